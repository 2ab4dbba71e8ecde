-- Communities that not everybody reads. Queries over posts look here, so a hub without one reads no row.
CREATE INDEX communities_not_public ON communities (id, visibility) WHERE visibility <> 'public';

-- Whoever created a community moderates it.
INSERT INTO community_members (community_id, account_id, role, created_at)
  SELECT id, created_by, 'moderator', created_at FROM communities WHERE created_by IS NOT NULL AND is_system = 0
  ON CONFLICT DO NOTHING;
