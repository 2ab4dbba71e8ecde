import * as z from 'zod'
import { countAnswer, presentTime, timeAnswer } from '../http/answers'
import type { CommunityRow } from './queries'

export const communityAnswer = z
  .object({
    id: z.string(),
    name: z.string(),
    display_name: z.string(),
    description: z.string(),
    post_count: countAnswer,
    is_muted: z.boolean().describe('Posts of a muted community are not in the feed of the hub.'),
    created_at: timeAnswer,
  })
  .meta({ id: 'Community' })

export const presentCommunity = (community: CommunityRow): z.input<typeof communityAnswer> => ({
  id: community.id,
  name: community.name,
  display_name: community.displayName,
  description: community.description,
  post_count: community.postCount,
  is_muted: community.isMuted,
  created_at: presentTime(community.createdAt),
})
