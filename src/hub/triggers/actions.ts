import * as z from 'zod'
import { triggerLimits } from '../../shared/config'
import { batch, run } from '../../shared/db/batch'
import { AppError, notFound } from '../../shared/errors'
import { knownFields } from '../../shared/known-fields'
import { shownText } from '../../shared/texts'
import type { Actor } from '../contract/hub'
import type { TriggerKey } from '../contract/triggers'
import type { ActionContext } from '../database/action-context'
import { type IdempotentResult, runOnce } from '../database/run-once'
import { apiBase } from '../http/mount-routes'
import { selectPlace } from '../posts/queries'
import { assertNoCredentials } from '../rules/credential-patterns'
import type { PersonAnswer } from '../rules/people-sql'
import { communityName, type PlaceAnswer, presentPlace, withoutMark } from '../rules/places'
import { verifications } from '../schema/triggers'
import { guardActor, type Viewer } from '../viewers/queries'
import { actorReader } from '../viewers/reader'
import {
  advanceSecret,
  deleteTrigger,
  insertTrigger,
  selectAskedAgent,
  selectTriggerKey,
} from './queries'
import { parseTemplate } from './template'

/** Errors of triggers, as users read them. */
export const triggerErrors = {
  notFound: () => notFound('trigger'),
  communityNotFound: () => notFound('community', 'Check the name of the community.'),
  agentNotFound: () =>
    notFound('agent', 'Only agents that run on this hub and answer direct messages can be asked.'),
  membersOnly: () =>
    new AppError('FORBIDDEN', 'Only people who are members can create triggers.', {
      hint: 'Ask a member: a trigger posts in the name of whoever created it, and spends from their budgets.',
    }),
  noKey: () =>
    new AppError('UNAVAILABLE', 'This hub cannot create secrets.', {
      hint: 'Its operator has to set ROOKERY_VAULT_KEY.',
    }),
  secretChanged: () =>
    new AppError('CONFLICT', 'Another request changed this trigger at the same time.', {
      hint: 'Try again.',
    }),
  tooMany: (cause: unknown) =>
    new AppError(
      'CONFLICT',
      `You have ${triggerLimits.perAccountMax} triggers, the most an account can have.`,
      { hint: 'Delete one that is no longer used.', cause },
    ),
}

/** Returns the address that other services send to. @param origin of the hub */
export const toTriggerUrl = (origin: string, id: string): string =>
  `${origin}${apiBase}/triggers/${id}`

export const triggerInput = knownFields({
  community: communityName.optional().describe('Where it posts. Give this or an agent.'),
  agent: z
    .string()
    .trim()
    .min(1)
    .max(100)
    .optional()
    .describe('The agent that gets a task. Its answer goes to your inbox.'),
  template: shownText
    .max(triggerLimits.templateCharsMax)
    .optional()
    .describe(
      'The text, with fields of the payload as {{ path.in.payload }}. A field that is missing is empty.',
    ),
  takes_reviews: z
    .boolean()
    .default(false)
    .describe(
      'In the place of a template, for an agent that works on repositories: reviews of its pull requests on GitHub continue their threads.',
    ),
  verify: z
    .enum(verifications)
    .describe(
      'How deliveries are verified: as Standard Webhooks or GitHub sign them, or by the secret as a bearer key.',
    ),
  per_hour_max: z
    .int()
    .min(1)
    .max(triggerLimits.perHourMax)
    .optional()
    .describe(
      `Deliveries that are accepted within an hour. Default: ${triggerLimits.perHourDefault}, with reviews ${triggerLimits.perHourMax}.`,
    ),
}).superRefine((input, { addIssue }) => {
  const { community, agent, template, takes_reviews: takesReviews, verify } = input
  const refuse = (field: keyof typeof input, message: string) =>
    addIssue({ code: 'custom', path: [field], message })
  if ((community === undefined) === (agent === undefined)) {
    refuse(agent === undefined ? 'community' : 'agent', 'Give a community or an agent, not both')
  } else if (takesReviews && agent === undefined) refuse('agent', 'Reviews are for an agent')
  if (takesReviews && verify !== 'github') refuse('verify', 'Reviews are signed as GitHub does')
  if ((template === undefined) !== takesReviews) {
    refuse('template', 'Give a template, or take reviews without one')
  }
  const { problem } = parseTemplate(template ?? '')
  if (problem !== null) refuse('template', problem)
})

type TriggerInput = z.output<typeof triggerInput>

export interface NewTrigger {
  id: string
  community: PlaceAnswer | null
  agent: PersonAnswer | null
  template: string
  takesReviews: boolean
  verify: TriggerInput['verify']
  perHourMax: number
  /** Returned only once. */
  secret: string
  createdAt: number
}

/**
 * Creates a trigger of the account: what is sent to it is posted in its name, or asked by it and paid from its budgets.
 *
 * @throws FORBIDDEN for anyone but people who are members, NOT_FOUND for a community that the account does not read and an
 *   agent that it cannot ask, VALIDATION for a template with a credential, UNAVAILABLE without a vault key, CONFLICT when the account has too many
 */
export async function createTrigger(
  context: ActionContext,
  actor: Actor,
  { role }: Pick<Viewer, 'role'>,
  input: TriggerInput,
): Promise<IdempotentResult<NewTrigger>> {
  if (actor.kind !== 'human' || role === 'guest') throw triggerErrors.membersOnly()
  const { db, clock, settings, triggerSecrets } = context
  const { accountId, idempotencyKey: key } = actor
  const { template = '', takes_reviews: takesReviews, verify } = input
  const { perHourDefault, perHourMax: most } = triggerLimits
  const perHourMax = input.per_hour_max ?? (takesReviews ? most : perHourDefault)
  assertNoCredentials({ template }, settings)
  const { community, agent } = await batch(db, {
    community:
      input.community === undefined
        ? null
        : selectPlace({ name: withoutMark(input.community), reader: actorReader(actor) }),
    agent:
      input.agent === undefined
        ? null
        : selectAskedAgent(input.agent.replace(/^@/, ''), takesReviews),
  })
  if (input.community !== undefined && !community) throw triggerErrors.communityNotFound()
  if (input.agent !== undefined && !agent) throw triggerErrors.agentNotFound()
  const id = clock.newId()
  const secret = await triggerSecrets.read({ id, verify, secretVersion: 1, oldSecretsUntil: [] })
  if (secret === null) throw triggerErrors.noKey()
  const createdAt = clock.now()
  const target = {
    community: community ? presentPlace(community) : null,
    agent: agent?.person ?? null,
  }
  const once = { accountId, key, action: 'triggers.create', input }
  return runOnce(db, once, {
    now: createdAt,
    answer: { id, ...target, template, takesReviews, verify, perHourMax, secret, createdAt },
    isSecret: true,
    constraints: { 'triggers.created_at': triggerErrors.tooMany },
    statements: {
      guard: await guardActor(context, actor, { role: 'member' }),
      trigger: insertTrigger({
        id,
        accountId,
        communityId: community?.id ?? null,
        agentId: agent?.id ?? null,
        template,
        takesReviews,
        verify,
        perHourMax,
        createdAt,
      }),
    },
  })
}

/** A new secret of a trigger. */
interface NewSecret {
  id: string
  /** Returned only once. */
  secret: string
  /** The secret before is accepted until then, and those before it as long as they were. */
  oldSecretUntil: number
}

/**
 * Gives a trigger of the account a new secret. Those before are accepted for a day each.
 *
 * @throws NOT_FOUND, UNAVAILABLE without a vault key
 */
export async function replaceSecret(
  context: ActionContext,
  actor: Actor,
  id: string,
): Promise<IdempotentResult<NewSecret>> {
  const { db, clock, triggerSecrets } = context
  const { accountId, idempotencyKey: key } = actor
  const now = clock.now()
  const oldSecretUntil = now + triggerLimits.oldSecretMs
  const before = await run(db, selectTriggerKey(id, accountId))
  if (!before) throw triggerErrors.notFound()
  // A new one that is asked for twice must not end the secret that the sender has.
  const untils = [oldSecretUntil, ...before.oldSecretsUntil]
  const oldSecretsUntil = untils.slice(0, triggerLimits.oldSecretsMax)
  const next: TriggerKey = { ...before, secretVersion: before.secretVersion + 1, oldSecretsUntil }
  const secret = await triggerSecrets.read(next)
  if (secret === null) throw triggerErrors.noKey()
  const once = { accountId, key, action: 'triggers.secret', input: { id } }
  const done = await runOnce(db, once, {
    now,
    answer: { id, secret, oldSecretUntil },
    isSecret: true,
    statements: {
      guard: await guardActor(context, actor, { role: 'member' }),
      isAdvanced: advanceSecret(before, accountId, oldSecretsUntil),
    },
  })
  if (done.results?.isAdvanced !== true) throw triggerErrors.secretChanged()
  return done
}

/** Deletes a trigger of the account, or of a community that it moderates. @throws NOT_FOUND */
export async function removeTrigger(
  { db }: ActionContext,
  { accountId }: Pick<Actor, 'accountId'>,
  id: string,
): Promise<void> {
  const { isDeleted } = await batch(db, deleteTrigger(id, accountId))
  if (!isDeleted) throw triggerErrors.notFound()
}
