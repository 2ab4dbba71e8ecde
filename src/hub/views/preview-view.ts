import * as z from 'zod'
import type { SchedulerView } from '../../agents/contract/agents'
import { limits, type ReplyLimits } from '../../shared/config'
import { AppError } from '../../shared/errors'
import { knownFields } from '../../shared/known-fields'
import { findMentions } from '../../shared/markdown/render-markdown'
import type { KeyPrefixes } from '../../shared/settings'
import type { ToolCatalog } from '../contract/hub'
import type { ActionContext } from '../database/action-context'
import { mergeCallPolicy, type PolicyRow } from '../grants/queries'
import { unreachedReasons } from '../inbox/not-woken'
import { readReach } from '../inbox/reach'
import { assertNoCredentials } from '../rules/credential-patterns'
import type { PersonAnswer } from '../rules/people-sql'
import { communityName } from '../rules/places'
import { explainReplyLimit, replyLimitConstraints } from '../rules/reply-limits'
import { writingConstraints } from '../rules/writing'
import type { Admission, PayingBudget } from '../runs/claim-queries'
import { freeTask, toQuestion } from './board-view'
import type { Draft, PreviewFacts, PreviewTarget } from './preview-queries'

/** The body of a preview: a post for a community, or a comment for a post. */
export const previewBody = knownFields({
  title: z.string().max(limits.post.titleCharsMax).default(''),
  content: z.string().max(limits.post.contentCharsMax).default(''),
  community: communityName.optional(),
  post_id: z.string().max(100).optional().describe('Of a new comment.'),
  parent_id: z.string().max(100).nullable().default(null).describe('The comment to reply to.'),
}).refine(({ community, post_id }) => (community === undefined) !== (post_id === undefined), {
  path: ['community'],
  message: 'Community or post_id is required',
})

type PreviewInput = z.output<typeof previewBody>

/** Returns the texts of a draft that can contain mentions, and where it will be. */
export function readDraft(input: PreviewInput): { texts: string[]; place: Draft['place'] } {
  const { title, content, community = '', post_id: postId, parent_id: parentId } = input
  return postId === undefined
    ? { texts: [title, content], place: { community, postId: null } }
    : { texts: [content], place: { community: null, postId, parentId } }
}

/**
 * What a text would make an agent do: `starts` a run, `joins` the one that works in the thread for its author, `waits` until something else ends, `refuses` because a
 * budget is used up, or is `not_woken`.
 */
type Consequence = 'starts' | 'joins' | 'waits' | 'refuses' | 'not_woken'

/** A server where the calls of these tools use the account of the requester, or fail without one. */
export interface OwnAccount {
  service: string
  tools: string[]
  isConnected: boolean
}

/** What posting a text does to one agent. */
export interface AgentPromise {
  agent: PersonAnswer
  cause: PreviewTarget['cause']
  consequence: Consequence
  /** Why it does not start; null when it does. */
  reason: string | null
  /** For whom the run acts. */
  requester: PersonAnswer
  model: string
  /** Tools that it may use for this requester. */
  tools: string[]
  /** Those of them of which all or some calls require approval. */
  needsApproval: { tool: string; calls: 'all' | 'some' }[]
  /** Servers where its calls use the account that the requester connected. */
  accounts: OwnAccount[]
  /** What the first model call can cost at most. */
  reservedMicrousd: number
  /** What the whole run can cost at most: what its budgets leave. */
  mostMicrousd: number
  /** Tokens that the whole run can use at most; null for the hub's own limit. */
  tokensMax: number | null
  paidBy: Pick<PayingBudget, 'scope' | 'period' | 'name'>[]
}

/** What posting a text does. */
export interface Preview {
  /** Why it would not be posted; null when it would. */
  refusal: string | null
  agents: AgentPromise[]
  /** The other accounts that are notified. */
  notified: PersonAnswer[]
}

/** Reads whom a text addresses. */
export const toDraft = (texts: string[], place: Draft['place']): Draft => ({
  names: [...new Set(texts.flatMap(findMentions))],
  reach: readReach(texts[0] ?? ''),
  place,
})

function explainRefusal(name: string, limits: ReplyLimits): string {
  const constraints = { ...writingConstraints, ...replyLimitConstraints(limits) }
  const error = constraints[name]?.(null)
  return error instanceof AppError ? [error.message, error.hint].filter(Boolean).join(' ') : name
}

/** Returns why a text looks like a credential; null when it does not. */
function findCredential(texts: string[], keys: KeyPrefixes): string | null {
  try {
    assertNoCredentials({ content: texts.join('\n') }, keys)
    return null
  } catch (error) {
    if (error instanceof AppError) return error.message
    throw error
  }
}

/** Returns why a woken agent does not start now; null when it does. */
function findWait(
  target: PreviewTarget,
  admission: Admission | undefined,
  scheduler: SchedulerView | null,
): string | null {
  const { name } = target
  if (target.isHubPaused) return unreachedReasons.hub_paused()
  if (target.isPaused) return unreachedReasons.paused(name)
  if (target.isStopped) return unreachedReasons.stopped(name)
  if (target.awaitsProvider) return `The model provider of ${name} is down.`
  if (target.isRunning) return `${name} has another run; an agent has one run at a time.`
  if (scheduler?.tasks[0] === 'no_slot') return 'All slots of the hub are in use.'
  if (admission && !admission.isExhausted && !admission.isFree) {
    return 'What its budgets leave is reserved by other runs.'
  }
  return null
}

const noPolicy: PolicyRow['own'] = null
const toPolicy = (stored: PreviewTarget['own']) => (stored.allowed === null ? noPolicy : stored)

/** Returns the tools that an agent may use for the author. */
function listTools(target: PreviewTarget, tools: ToolCatalog, connected: string[]) {
  const policy = mergeCallPolicy({
    default: toPolicy(target.default),
    own: toPolicy(target.own),
    requested: target.requested ?? [],
    toolsVersion: target.toolsVersion,
    requesters: target.requesters,
    owner: target.owner,
  })
  const allowed = tools.evaluatePolicy(policy).filter(({ isAllowed }) => isAllowed)
  const services = [...new Set(allowed.flatMap(({ account }) => account ?? []))]
  return {
    accounts: services.map((service) => ({
      service,
      tools: allowed.flatMap(({ account, tool }) => (account === service ? tool.name : [])),
      isConnected: connected.includes(service),
    })),
    tools: allowed.map(({ tool }) => tool.name),
    needsApproval: allowed.flatMap(({ tool, approval }) =>
      approval === 'never'
        ? []
        : [
            {
              tool: tool.name,
              calls: approval === 'always' ? ('all' as const) : ('some' as const),
            },
          ],
    ),
  }
}

interface Asking {
  facts: PreviewFacts
  requester: PersonAnswer
  tools: ToolCatalog
  scheduler: SchedulerView | null
  /** Those of the place. */
  limits: ReplyLimits
  /** Servers where the author has connected an account. */
  connected: string[]
}

/** Returns what the text makes an agent do, and why it does not start. */
function foresee(
  target: PreviewTarget,
  admission: Admission | undefined,
  { scheduler, limits }: Pick<Asking, 'scheduler' | 'limits'>,
): Pick<AgentPromise, 'consequence' | 'reason'> {
  if (target.joins) return { consequence: 'joins', reason: null }
  if (!target.answers || target.refusal !== null) {
    return { consequence: 'not_woken', reason: explainNotWoken(target, limits) }
  }
  const wait = findWait(target, admission, scheduler)
  if (wait !== null) return { consequence: 'waits', reason: wait }
  if (admission?.isExhausted === false) return { consequence: 'starts', reason: null }
  const reason = 'A budget is used up: it answers that, and calls no model.'
  return { consequence: 'refuses', reason }
}

function toPromise(
  target: PreviewTarget,
  { facts, requester, tools, scheduler, limits, connected }: Asking,
): AgentPromise {
  const admission = facts.admissions.find(({ agentId }) => agentId === target.id)
  const { consequence, reason } = foresee(target, admission, { scheduler, limits })
  return {
    agent: target.account,
    cause: target.cause,
    consequence,
    reason,
    requester,
    model: admission?.model ?? target.model ?? '',
    ...listTools(target, tools, connected),
    reservedMicrousd: admission?.reservedMicrousd ?? 0,
    mostMicrousd: admission?.freeMicrousd ?? 0,
    tokensMax: target.tokensMax,
    paidBy: facts.budgets
      .filter(({ agentId }) => agentId === target.id)
      .map(({ scope, period, name }) => ({ scope, period, name })),
  }
}

/** Leaves out the tools that the definition of the agent excludes. */
async function keepUsable(
  agents: Pick<ActionContext['agents'], 'listUsableTools'>,
  { name, etag }: PreviewTarget,
  promise: AgentPromise,
): Promise<AgentPromise> {
  if (etag === null || promise.tools.length === 0) return promise
  const tools = await agents.listUsableTools({ name, etag }, promise.tools)
  const needsApproval = promise.needsApproval.filter(({ tool }) => tools.includes(tool))
  const accounts = promise.accounts.filter((each) =>
    each.tools.some((tool) => tools.includes(tool)),
  )
  return { ...promise, tools, needsApproval, accounts }
}

const explainNotWoken = ({ refusal, cause, name }: PreviewTarget, limits: ReplyLimits): string =>
  explainReplyLimit(refusal, limits) ??
  (cause === 'mention'
    ? unreachedReasons.mentions_off(name)
    : 'Replies without a mention do not wake it. Mention it.')

const refreshTools = async (tools: ToolCatalog, [first]: PreviewTarget[]): Promise<void> => {
  if (first?.toolsVersion) await tools.refresh({ toolsVersion: first.toolsVersion })
}

/**
 * Returns what posting a text would do now. Besides the reads it asks the scheduler for a slot, and reads the
 * definitions of the agents.
 *
 * @param texts of the post or comment
 */
export async function toPreview(
  { agents, scheduler, tools, settings }: ActionContext,
  facts: PreviewFacts & { place: NonNullable<PreviewFacts['place']> },
  texts: string[],
): Promise<Preview> {
  const question = toQuestion({ ...facts.hub, isPaused: false }, [], [freeTask])
  const [view] = await Promise.all([
    scheduler.explain(question).catch(() => null),
    refreshTools(tools, facts.targets),
  ])
  const { refusal, requester, limits, connected } = facts.place
  const asking = { facts, requester, tools, scheduler: view, limits, connected }
  const hosted = facts.targets.filter(({ model }) => model !== null)
  const promises = hosted.map(async (target) =>
    keepUsable(agents, target, toPromise(target, asking)),
  )
  return {
    refusal:
      findCredential(texts, settings) ??
      (refusal === null ? null : explainRefusal(refusal, limits)),
    agents: await Promise.all(promises),
    notified: facts.targets.flatMap(({ model, account }) => (model === null ? [account] : [])),
  }
}
