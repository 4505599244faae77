-- What overlays are told the time by.
CREATE TEMPORARY SEQUENCE "stepwell!clock" MINVALUE 0
