import * as z from 'zod'
import { mediaPath } from '../../shared/paths'
import { countAnswer, presenterOf, timeAnswer } from '../http/answers'
import { personAnswer, presentPerson } from '../rules/people'
import { communities, communityMembers } from '../schema/communities'
import type { CommunityRow, MemberRow } from './queries'

export const communityAnswer = z
  .object({
    id: z.string(),
    name: z.string(),
    display_name: z.string(),
    description: z.string(),
    picture_url: z.string().nullable().describe('Path of its picture on this hub; null for none.'),
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
  picture_url: ({ pictureId }) => pictureId && mediaPath(pictureId),
})

export const memberAnswer = z
  .object({
    account: personAnswer,
    role: z.enum(communityMembers.role.enumValues),
    created_at: timeAnswer,
  })
  .meta({ id: 'CommunityMember' })

export const presentMember = presenterOf(memberAnswer).from<MemberRow>({
  account: presentPerson,
})
