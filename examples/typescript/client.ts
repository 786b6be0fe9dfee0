// A person is assigned and an outcome told, with the types of fairarm.ts.
//   FAIRARM_URL=http://127.0.0.1:8000 FAIRARM_TOKEN=… node client.ts reminders person-1 '"a"' '{}' '{"result": "win"}'
// (study, unit, group, what is known now, what is told later)
import type { AssignBody, Assigned, ErrorAnswer, Routes, TellBody, Told } from "./fairarm.ts";

const base = process.env.FAIRARM_URL ?? "http://127.0.0.1:8000";
const token = process.env.FAIRARM_TOKEN ?? "";
const deployed: string | null = null;

async function call<R extends keyof Routes>(path: string, body: Routes[R]["body"], ms: number): Promise<Routes[R]["answer"]> {
  const answer = await fetch(base + path, {
    method: "POST",
    headers: { "Authorization": `Bearer ${token}`, "Content-Type": "application/json" },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(ms),
  });
  if (!answer.ok) {
    const refused = (await answer.json()) as ErrorAnswer;
    throw new Error(`${refused.error}: ${refused.message}`);
  }
  return (await answer.json()) as Routes[R]["answer"];
}

/** Never later than 100 ms: a person whom the service does not answer in time is served as before. */
async function assign(study: string, body: AssignBody, ms = 100): Promise<Assigned> {
  try {
    return await call<"POST /v1/studies/{name}/assignments">(`/v1/studies/${encodeURIComponent(study)}/assignments`, body, ms);
  } catch (error) {
    if (error instanceof Error && (error.name === "TimeoutError" || error.name === "TypeError")) {
      return { assignment: null, arm: deployed, decision: null, cohort: null, outside: true, repeated: false, conflict: false };
    }
    throw error;
  }
}

async function tell(study: string, body: TellBody): Promise<Told> {
  return call<"POST /v1/studies/{name}/outcomes">(`/v1/studies/${encodeURIComponent(study)}/outcomes`, body, 10_000);
}

const [study, unit, group, known, row] = process.argv.slice(2);
const person = await assign(study, { unit, group: JSON.parse(group), known: JSON.parse(known) }, Number(process.env.FAIRARM_MS ?? 100));
console.log(JSON.stringify(person));
if (person.assignment !== null) {
  console.log(JSON.stringify(await tell(study, { assignment: person.assignment, row: JSON.parse(row) })));
}
