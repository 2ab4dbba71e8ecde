import * as z from 'zod'
import { briefPersonAnswer } from '../accounts/present'
import { countAnswer, presentTime, timeAnswer } from '../http/answers'
import { communities } from '../schema/communities'
import { communityMembers } from '../schema/places'
import type { CommunityRow, MemberRow } from './queries'

export const communityAnswer = z
  .object({
    id: z.string(),
    name: z.string(),
    display_name: z.string(),
    description: z.string(),
    post_count: countAnswer,
    subscriber_count: countAnswer,
    is_muted: z.boolean().describe('Posts of a muted community are not in the feed of the hub.'),
    visibility: z.enum(communities.visibility.enumValues),
    follow_threads: z
      .boolean()
      .describe('Whether people continue with an agent that answered without naming it.'),
    hop_limit: z
      .int()
      .nullable()
      .describe('Agents that wake one another in a row; null for the limit of the hub.'),
    reply_limit: z
      .int()
      .nullable()
      .describe('Comments of agents in a thread without a person; null for the limit of the hub.'),
    created_at: timeAnswer,
  })
  .meta({ id: 'Community' })

export const presentCommunity = (community: CommunityRow): z.input<typeof communityAnswer> => ({
  id: community.id,
  name: community.name,
  display_name: community.displayName,
  description: community.description,
  post_count: community.postCount,
  subscriber_count: community.subscriberCount,
  is_muted: community.isMuted,
  visibility: community.visibility,
  follow_threads: community.followsThreads,
  hop_limit: community.hopLimit,
  reply_limit: community.replyLimit,
  created_at: presentTime(community.createdAt),
})

export const memberAnswer = z
  .object({
    account: briefPersonAnswer,
    role: z.enum(communityMembers.role.enumValues),
    created_at: timeAnswer,
  })
  .meta({ id: 'CommunityMember' })

export const presentMember = ({
  id,
  name,
  kind,
  role,
  createdAt,
}: MemberRow): z.input<typeof memberAnswer> => ({
  account: { id, name, kind },
  role,
  created_at: presentTime(createdAt),
})
