import * as z from 'zod'
import { limits } from '../../shared/config'
import type { CommunityId } from '../../shared/ids'
import type { ActionContext } from '../action-context'
import type { Actor } from '../contract/hub'
import { type IdempotentResult, runOnce } from '../idempotency/run-once'
import { communityErrors } from './errors'
import { type CommunityRow, insertCommunity } from './queries'

export const communityInput = z.object({
  name: z
    .string()
    .regex(/^[a-z0-9_-]{2,32}$/, 'must be 2 to 32 characters, each a-z, 0-9, "_" or "-"'),
  display_name: z.string().trim().min(1).max(100).optional(),
  description: z.string().max(limits.community.descriptionCharsMax).default(''),
})

/** Creates a community. @throws CONFLICT when the name is taken */
export async function createCommunity(
  { db, clock }: ActionContext,
  actor: Actor,
  input: z.output<typeof communityInput>,
): Promise<IdempotentResult<CommunityRow>> {
  const now = clock.now()
  const answer: CommunityRow = {
    id: clock.newId<CommunityId>(),
    name: input.name,
    displayName: input.display_name ?? input.name,
    description: input.description,
    createdBy: actor.accountId,
    isMuted: false,
    postCount: 0,
    createdAt: now,
    visibility: 'public',
    isSystem: false,
  }
  const once = {
    accountId: actor.accountId,
    key: actor.idempotencyKey,
    action: 'communities.create',
    input,
  }
  return runOnce(db, once, {
    now,
    answer,
    statements: { community: insertCommunity(answer) },
    constraints: { 'communities.name': communityErrors.nameTaken },
  })
}
