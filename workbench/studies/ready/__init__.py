"""Studies as ready files, to run as they are or to edit: one YAML file each, with the paper's table or figure in its note."""
