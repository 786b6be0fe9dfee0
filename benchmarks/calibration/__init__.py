"""The calibration gate: is a certified answer wrong as rarely as it says, and how sure may bayes-stop be believed to be?"""
