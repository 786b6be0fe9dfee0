// Made by: python -m fairarm.service.languages examples/typescript/fairarm.ts

/** A hand on the button. */
export interface ActBody {
  /** For the record, in your words. */
  reason: string;
  /** The study's name again. */
  confirm: string;
}

/** What is known of one arm by settled cohorts. */
export interface ArmStanding {
  name: string;
  outcome: number | null;
  interval: [number, number] | null;
  certified: [number, number] | null;
  rows: RowStanding[];
  closest: string | null;
  best_probability: number | null;
  fair_probability: number | null;
  proof: string | null;
  paused: boolean;
  paused_by: string | null;
  reason: string;
  people: number;
  counted: number;
}

/** A person who has come. */
export interface AssignBody {
  /** Your name of the person; kept as a keyed hash only. */
  unit: string;
  /** The state of the sensitive attribute; of several, each one's. */
  group?: string | Record<string, string> | null;
  /** Inputs that are known now. With all of an arm's the answer has a decision. */
  known?: Record<string, string | boolean | number> | null;
}

/** What a person gets. */
export interface Assigned {
  /** To tell the outcome with; null where outside. */
  assignment: string | null;
  /** Outside: the deployed arm, or null: serve as before. */
  arm: string | null;
  /** The arm's, where all that it looks at was known. */
  decision: string | null;
  cohort: number | null;
  /** Not in the study: nothing is to be told. */
  outside: boolean;
  /** The person was known: the same answer as before. */
  repeated: boolean;
  /** Another group or input than at the first call, whose values hold. */
  conflict: boolean;
}

/** One item per outcome, in the order sent. */
export interface BatchAnswer {
  results: BatchItem[];
}

/** Many outcomes at once. */
export interface BatchBody {
  outcomes: (TellBody | UnservedBody)[];
}

/** What became of one outcome of a batch: a status, or an error. */
export interface BatchItem {
  status?: "new" | "repeated" | "late" | "settled" | null;
  error?: string | null;
  message?: string | null;
}

/** One cohort; counts only, as long as it is not settled. */
export interface CohortReport {
  number: number;
  state: "open" | "out" | "settled" | "dropped";
  starts: string;
  opened: string;
  closes: string;
  matures: string;
  settles: string;
  settled: string | null;
  plan: Record<string, number>;
  share: number;
  cards: number;
  dealt: number;
  told: number;
  late: number;
  unserved: number;
  lost: number | null;
  counted: number | null;
  filled: number | null;
  erased: number | null;
  cut: boolean;
  reason: string | null;
  why: Record<string, unknown>;
}

/** Whether a correction counts: only within the window and before its cohort is settled. */
export interface Corrected {
  counts: boolean;
}

/** Another outcome than was told. */
export interface CorrectionBody {
  /** As the assignment was answered. */
  assignment: string;
  row: Record<string, string | boolean | number>;
  /** For the record, in your words. */
  reason: string;
  /** The study's name again. */
  confirm: string;
}

/** A new study. The problem is the text of a problem file that names no other file. */
export interface CreateBody {
  name: string;
  problem: string;
  /** People in all, at most. */
  pulls: number;
  /** To enter a cohort. */
  people: number;
  /** A day. */
  arrivals: number;
  /** 10s, 30m, 12h or 7d. */
  window: string;
  confidence?: number;
  /** 10s, 30m, 12h or 7d. */
  cohort?: string;
  /** 10s, 30m, 12h or 7d. */
  cycle?: string;
  group?: "at arrival" | "with outcome";
  /** What 'served, but no outcome reported' means. */
  lost?: string;
  unserved?: "worst" | "at random";
  at_random_confirmed?: boolean;
  on_alarm?: "pause" | "tell";
  keep_rows?: "always" | "until settled";
  on_end?: "keep" | "deployed";
  deployed?: string | null;
  seed?: number | null;
  start?: string | null;
}

/** A cohort that is left out: an outage, stated to be independent of outcomes. */
export interface DropBody {
  /** For the record, in your words. */
  reason: string;
  /** The study's name again. */
  confirm: string;
  cohort: number;
}

/** Why a request was refused. */
export interface ErrorAnswer {
  /** A code: of the kind of error, stable. */
  error: string;
  /** What is wrong and the way out, on one line, for people. */
  message: string;
}

/** One line of what happened to a study; ``hash`` is over the line and ``prev``. Actor and reason of a correction read "erased" once the person is erased. */
export interface Event {
  seq: number;
  at: string;
  actor: string;
  kind: string;
  body: Record<string, unknown>;
  state: StudyState;
  prev: string;
  hash: string;
}

/** Whom the study has served with what. */
export interface ExposureReport {
  people: Record<string, Record<string, number>>;
  total: number;
  doubted_now: number;
  doubted_then: number;
  given_up: number | null;
  against: string | null;
}

/** One thing noticed. */
export interface Finding {
  name: string;
  message: string;
  rows?: number;
  examples?: string[];
  level?: Level;
}

/** A person to be erased: no reason is asked for, since nothing said about the person is to stay. */
export interface ForgetBody {
  unit: string;
  /** The study's name again. */
  confirm: string;
}

/** Whether there was such a person. */
export interface Forgotten {
  erased: boolean;
}

/** The process answers. */
export interface Healthy {
  status: "ok";
}

/** What was known after a cohort was settled; by arm. */
export interface HistoryPoint {
  cohort: number;
  at: string;
  best: Record<string, number | null>;
  fair: Record<string, number | null>;
  none: number | null;
  status: string;
  arm: string | null;
  people: number;
}

/** What a finding does to the answer. Each level blocks what the one before it blocks. */
export type Level = "info" | "warning" | "blocks certification" | "blocks the answer";

/** One test of what the certificate rests on. */
export interface Monitor {
  name: "law" | "drift" | "loss" | "coverage" | "guard";
  value: number;
  threshold: number;
  alarm: boolean;
  voids: boolean;
  on: boolean;
  detail?: Record<string, unknown>;
}

/** Whether the process can serve. */
export interface Readiness {
  ready: boolean;
  /** A write was committed just now. */
  writes: boolean;
  /** Seconds since cohorts were last looked after, by any process. */
  tick_age: number | null;
  /** Studies that wait until somebody confirms the clock. */
  held: number;
  /** Calls that wait for their commit. */
  waiting: number;
}

/** One row of fairness of an arm in the outcome's units: what is believed and what is certified, against its ends. */
export interface RowStanding {
  name: string;
  value: number | null;
  interval: [number, number] | null;
  certified: [number, number] | null;
  above: number | null;
  below: number | null;
  holds_probability: number | null;
}

/** The state of a study after the act. */
export interface StateAnswer {
  state: string;
}

/** Something to be said of a result: a code, and the names and numbers of this case. */
export interface Statement {
  code: string;
  facts?: Record<string, unknown>;
}

/** A stop: after the open cohort, which is free, or now, which cuts it and costs 3 nats of evidence. */
export interface StopBody {
  /** For the record, in your words. */
  reason: string;
  /** The study's name again. */
  confirm: string;
  now?: boolean;
}

/** What a study is about, and how it was set up. */
export interface StudyAbout {
  name: string;
  state: string;
  arms: string[];
  deployed: string | null;
  options: Record<string, unknown>;
  under_way_at_once: number;
}

/** The answer of a study, what it rests on and what happened to it: plain values. */
export interface StudyAnswer {
  study: string;
  state: StudyState;
  status: string;
  arm: string | null;
  reason: string | null;
  reason_text: string | null;
  recommended: string | null;
  recommended_status: string;
  recommended_probability: number | null;
  confidence: number;
  void: boolean;
  void_by: string[];
  settled: number;
  out: number;
  people: number;
  counted: number;
  filled: number;
  unserved: number;
  erased: number;
  lost: number;
  lost_means: string;
  unserved_means: string;
  cut: number[];
  dropped: number[];
  next_at: string | null;
  closes_at: string | null;
  assumed: Statement[];
  none_probability: number | null;
  findings: Finding[];
}

/** running ⇄ paused → draining → finished | closed. */
export type StudyState = "running" | "paused" | "draining" | "finished" | "closed";

/** One study in a list. */
export interface Summary {
  name: string;
  problem: string;
  state: StudyState;
  created: string;
  pulls: number;
  cohorts: number;
  settled: number;
  people: number;
  status: string;
  arm: string | null;
  recommended: string | null;
  recommended_probability: number | null;
  void: boolean;
  held: boolean;
}

/** What came of an assignment. */
export interface TellBody {
  /** As the assignment was answered. */
  assignment: string;
  /** By column, what was not known at assignment. */
  row: Record<string, string | boolean | number>;
}

/** What became of an outcome that was told. */
export interface Told {
  status: "new" | "repeated" | "late" | "settled";
}

/** A person who never got what was assigned: counts as lost. */
export interface UnservedBody {
  /** As the assignment was answered. */
  assignment: string;
  unserved: true;
}

/** What a token is good for. */
export interface Whose {
  role: string;
  /** null: all studies. */
  study: string | null;
  label: string;
}

/** What each route takes and gives. */
export interface Routes {
  "GET /health": { body: undefined; answer: Healthy };
  "GET /ready": { body: undefined; answer: Readiness };
  "GET /metrics": { body: undefined; answer: string };
  "POST /v1/studies/{name}/assignments": { body: AssignBody; answer: Assigned };
  "POST /v1/studies/{name}/outcomes": { body: TellBody | UnservedBody; answer: Told };
  "POST /v1/studies/{name}/outcomes:batch": { body: BatchBody; answer: BatchAnswer };
  "POST /v1/studies/{name}:pause": { body: StopBody; answer: StateAnswer };
  "POST /v1/studies/{name}:resume": { body: ActBody; answer: StateAnswer };
  "POST /v1/studies/{name}:close": { body: StopBody; answer: StateAnswer };
  "POST /v1/studies/{name}:drop": { body: DropBody; answer: StateAnswer };
  "GET /v1/studies": { body: undefined; answer: Summary[] };
  "POST /v1/studies": { body: CreateBody; answer: StudyAbout };
  "GET /v1/studies/{name}": { body: undefined; answer: StudyAbout };
  "GET /v1/studies/{name}/verdict": { body: undefined; answer: StudyAnswer };
  "GET /v1/studies/{name}/cohorts": { body: undefined; answer: CohortReport[] };
  "GET /v1/studies/{name}/findings": { body: undefined; answer: Finding[] };
  "GET /v1/studies/{name}/exposure": { body: undefined; answer: ExposureReport };
  "GET /v1/studies/{name}/arms": { body: undefined; answer: ArmStanding[] };
  "GET /v1/studies/{name}/history": { body: undefined; answer: HistoryPoint[] };
  "GET /v1/studies/{name}/monitors": { body: undefined; answer: Monitor[] };
  "GET /v1/studies/{name}/events": { body: undefined; answer: Event[] };
  "POST /v1/studies/{name}/corrections": { body: CorrectionBody; answer: Corrected };
  "POST /v1/studies/{name}:forget": { body: ForgetBody; answer: Forgotten };
  "GET /v1/studies/{name}/export": { body: undefined; answer: Blob };
  "GET /v1/token": { body: undefined; answer: Whose };
}
