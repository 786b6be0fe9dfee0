"""Files and foreign models in, problems and networks out."""
