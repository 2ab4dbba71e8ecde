import { presentTime } from '../accounts/present'
import type { CommunityRow } from './queries'

export const presentCommunity = (community: CommunityRow): object => ({
  id: community.id,
  name: community.name,
  display_name: community.displayName,
  description: community.description,
  post_count: community.postCount,
  is_muted: community.isMuted,
  created_at: presentTime(community.createdAt),
})
