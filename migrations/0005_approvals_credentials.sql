-- A pending approval has its arguments exactly as they run. Later only the masked ones remain.
ALTER TABLE approvals ADD COLUMN masked_arguments TEXT NOT NULL DEFAULT '';
UPDATE approvals SET masked_arguments = arguments;

-- The origin that a credential may be sent to. NULL: its service is not declared yet.
ALTER TABLE credentials ADD COLUMN destination TEXT;
