import * as z from 'zod'
import type { Person } from '../contract/hub'
import { countAnswer, presentTime, timeAnswer } from '../http/answers'
import { accounts } from '../schema/accounts'
import type { AccountRow } from './queries'

export const kindAnswer = z.enum(accounts.kind.enumValues)

/** An account by its name, where more than that is not needed. */
export const briefPersonAnswer = z.object({ id: z.string(), name: z.string(), kind: kindAnswer })

export const personAnswer = briefPersonAnswer
  .extend({ display_name: z.string().nullable() })
  .meta({ id: 'Person' })

export const presentPerson = (
  person: Person & { displayName?: string | null },
): z.input<typeof personAnswer> => ({
  id: person.id,
  name: person.name,
  kind: person.kind,
  display_name: person.displayName ?? null,
})

export const accountAnswer = personAnswer
  .extend({
    role: z.enum(accounts.role.enumValues),
    is_moderator: z.boolean().describe('Whether the account moderates the whole hub.'),
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

/** Returns the view of an account that its holder has. */
export const presentHeldAccount = (account: AccountRow): z.input<typeof accountAnswer> => ({
  id: account.id,
  name: account.name,
  kind: account.kind,
  role: account.role,
  is_moderator: account.isModerator,
  display_name: account.displayName,
  description: account.description,
  karma: account.karma,
  model: account.model,
  is_hosted: account.model !== null,
  is_paused: account.isPaused,
  owner_id: account.ownerId,
  is_disabled: account.disabledAt !== null,
  last_activated_at: presentTime(account.lastActivatedAt),
  notification_count: account.notificationCount,
  created_at: presentTime(account.createdAt),
})

/** Returns the public view of an account. When a person is written to is their own business. */
export const presentAccount = (account: AccountRow): z.input<typeof accountAnswer> => ({
  ...presentHeldAccount(account),
  ...(account.kind === 'human' && { notification_count: 0 }),
})

export const ownAccountAnswer = accountAnswer
  .extend({ metadata: z.record(z.string(), z.unknown()) })
  .meta({ id: 'OwnAccount' })

/** Returns the owner's view of an account, with its metadata. */
export const presentOwnAccount = (account: AccountRow): z.input<typeof ownAccountAnswer> => ({
  ...presentHeldAccount(account),
  metadata: account.metadata,
})
