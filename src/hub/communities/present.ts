import * as z from 'zod'
import { briefPersonAnswer } from '../accounts/present'
import { countAnswer, timeAnswer } from '../http/answers'
import { presenterOf } from '../http/presenter'
import { communities } from '../schema/communities'
import { communityMembers } from '../schema/places'
import type { CommunityRow, MemberRow } from './queries'

/** A community by its name, where more than that is not needed. */
export const placeAnswer = z.object({
  id: z.string(),
  name: z.string(),
  display_name: z.string(),
})

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

export const presentCommunity = presenterOf(communityAnswer).from<CommunityRow>({
  follow_threads: ({ followsThreads }) => followsThreads,
})

export const memberAnswer = z
  .object({
    account: briefPersonAnswer,
    role: z.enum(communityMembers.role.enumValues),
    created_at: timeAnswer,
  })
  .meta({ id: 'CommunityMember' })

export const presentMember = presenterOf(memberAnswer).from<MemberRow>({
  account: ({ id, name, kind }) => ({ id, name, kind }),
})
