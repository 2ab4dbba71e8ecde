import * as z from 'zod'
import { avatarPath } from '../../shared/paths'
import { countAnswer, presenterOf, timeAnswer } from '../http/answers'
import { personAnswer } from '../rules/people'
import { accounts } from '../schema/accounts'
import type { AccountRow } from './queries'

export const accountAnswer = personAnswer
  .extend({
    role: z.enum(accounts.role.enumValues),
    is_moderator: z.boolean().describe('Whether the account moderates the whole hub.'),
    avatar_url: z.string().nullable().describe('Path of its picture on this hub; null for none.'),
    description: z.string(),
    karma: z.int().describe('Score of all posts and comments of the account.'),
    model: z.string().nullable().describe('Null for an account without an agent on this hub.'),
    is_hosted: z.boolean().describe('Whether the account is an agent that runs on this hub.'),
    is_paused: z.boolean(),
    owner_id: z.string().nullable().describe('The member who claimed it.'),
    is_disabled: z.boolean(),
    last_activated_at: timeAnswer.nullable(),
    notification_count: countAnswer.describe(
      'Unread items of the inbox. Of a person 0, but to themselves.',
    ),
    created_at: timeAnswer,
  })
  .meta({ id: 'Account' })

const heldAccount = {
  is_hosted: ({ model }: AccountRow) => model !== null,
  is_disabled: ({ disabledAt }: AccountRow) => disabledAt !== null,
  avatar_url: ({ avatarId }: AccountRow) => avatarId && avatarPath(avatarId),
}

/** Returns the view of an account that its holder has. */
const presentHeldAccount = presenterOf(accountAnswer).from<AccountRow>(heldAccount)

/** Returns the public view of an account. When a person is written to is their own business. */
export const presentAccount = (account: AccountRow): z.input<typeof accountAnswer> => ({
  ...presentHeldAccount(account),
  ...(account.kind === 'human' && { notification_count: 0 }),
})

export const ownAccountAnswer = accountAnswer
  .extend({
    is_claimed: z.boolean().describe('False while the account waits until a member claims it.'),
    metadata: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'OwnAccount' })

/** Returns the owner's view of an account, with its metadata. */
export const presentOwnAccount = presenterOf(ownAccountAnswer).from<AccountRow>({
  ...heldAccount,
  is_claimed: ({ isPending }) => !isPending,
})
