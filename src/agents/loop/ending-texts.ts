import type { BudgetShortage } from '../../hub/contract/hub'
import { toIsoTime } from '../../shared/iso-time'
import type { Phase } from './state'

/** Says who can raise a limit: whoever reads the reply may not be able to. */
const raise = (fields: string, purpose: string): string =>
  `An admin or my owner can raise ${fields} in my definition to ${purpose}.`

/** The limit on tokens that lets an activation continue when it is raised. */
const raiseTokens = raise(
  '`behavior.max_tokens` or `brain.max_tokens_per_activation`, whichever is smaller,',
  'let me continue',
)
const raiseOutput = raise('`brain.max_tokens`', 'allow longer answers')
const raiseDuration = raise('`behavior.max_duration_seconds`', 'give me more time')

/** Budgets by scope and period, within a sentence. */
const budgetNames: Record<BudgetShortage['scope'], string> = {
  hub: 'budget of the hub',
  agent: 'budget for me',
  provider: 'budget of my model provider',
  model: 'budget of my model',
  community: 'budget of this community',
  requester: 'budget of a requester',
  guests: 'budget of all guests together',
  replay: 'budget of replays',
  'role:member': 'budget per member',
  'role:guest': 'budget per guest',
}
const periodNames = { day: 'daily', week: 'weekly', month: 'monthly' } as const

const formatAmount = (amount: number, { kind }: BudgetShortage): string =>
  kind === 'tokens'
    ? `${amount.toLocaleString('en-US')} tokens`
    : `$${(amount / 1_000_000).toFixed(amount < 10_000 ? 6 : 4)}`

/** Returns what is left of a budget, what the refused call needs, and when the budget resets. */
function describeShortage(shortage: BudgetShortage): string {
  const { scope, period, left, needs, resetsAt } = shortage
  const rest = left === 0 ? 'is used up' : `has ${formatAmount(left, shortage)} left`
  const needed =
    needs === null || left === 0
      ? ''
      : `, and this call needs at least ${formatAmount(needs, shortage)}`
  const reset =
    resetsAt === null
      ? ''
      : ` It resets on ${toIsoTime(resetsAt).slice(0, 16).replace('T', ' at ')} UTC.`
  return `the ${periodNames[period]} ${budgetNames[scope]} ${rest}${needed}.${reset}`
}

/** Texts that an agent posts when it ends without an answer of its own, as users read them. */
export const endingTexts = {
  iterationLimit: (steps: number) =>
    `I stopped after ${steps} ${steps === 1 ? 'step' : 'steps'}, my iteration limit for one task. ${raise('`behavior.max_iterations`', 'let me continue')}`,
  iterationCeiling: (steps: number) =>
    `I stopped after ${steps} steps, the maximum for any agent. I may have been repeating myself.`,
  iterationCeilingWarning: (steps: number) =>
    `Stopped at the hard ceiling of ${steps} steps: possible infinite loop.`,
  tokenLimit: (used: number, limit: number, next: number) =>
    `I used ${used} of the ${limit} tokens I have for one task, and my next step would need about ${next}. ${raiseTokens}`,
  tokensUsedUp: (used: number) =>
    `I used ${used} tokens, which is all I have for one task. ${raiseTokens}`,
  answerLimit: () => `My answer reached its length limit. ${raiseOutput}`,
  timedOut: () => `I timed out. ${raiseDuration}`,
  timedOutAfter: (ms: number) => `I timed out after ${Math.round(ms / 1000)} s. ${raiseDuration}`,
  contextFull: (promptTokens: number, windowTokens: number) =>
    `I could not continue: the prompt is about ${promptTokens} tokens long, and my model's window holds ${windowTokens}. Use a shorter thread or a model with a larger window.`,
  budgetExhausted: (shortage?: BudgetShortage) =>
    shortage === undefined
      ? 'I cannot answer: the budget for this period is used up. An admin can raise it on the ' +
        '[budgets page](/budgets). Otherwise I can answer again when the budget resets.'
      : `I cannot answer: ${describeShortage(shortage)} An admin can raise it on the [budgets page](/budgets).`,
  contentFiltered: () => 'The model provider filtered my answer, so I cannot post it.',
  cancelled: () => 'I was asked to stop.',
  paused: () => 'An admin paused me, so I stopped here.',
  notStarted: (message: string) => `I could not start: ${message}`,
  failed: (message: string, isRecoverable: boolean) =>
    `I could not finish: ${message}${isRecoverable ? ' Asking me again may help.' : ''}`,
  // not posted: for the trace alone
  finishedElsewhere: () => 'Another run finished this task.',
  postDeleted: () => 'The post was deleted before I could read it.',
  compacted: (replaced: number, problem: string | null) => {
    if (replaced === 0)
      return 'Nothing was compacted: what I remember of this conversation is short.'
    const messages = `${replaced} ${replaced === 1 ? 'message' : 'messages'}`
    return problem === null
      ? `A summary replaced ${messages} of what I remember of this conversation.`
      : `An extract replaced ${messages} of what I remember of this conversation. ${problem}`
  },
  compactDenied: () =>
    'Only an admin or the author of the post can compact what I remember of this thread.',
  nothingToSay: () => 'There was nothing to say.',
}

/** What a run that is set aside was doing. */
const phaseTexts: Partial<Record<Phase, string>> = {
  loading: 'I read the task',
  reasoning: 'I asked my model',
  compacting: 'I summarized the conversation',
  acting: 'a tool ran',
  parking: 'I requested an approval',
  committing: 'my answer was posted',
}

/** Messages of activation errors that the loop itself finds, as users and admins read them. */
export const endingMessages = {
  contextFull: (promptTokens: number, windowTokens: number) =>
    `The prompt is about ${promptTokens} tokens long and the model's window holds ${windowTokens}.`,
  contentFiltered: () => 'The model provider filtered the answer.',
  endedWithError: () => 'The model provider ended the answer with an error.',
  endedWithoutReason: () =>
    'The model provider gave no known reason for ending the answer, so its tool calls were not run.',
  emptyAnswers: () => 'The model returned an empty answer twice.',
  outputLimit: (outputTokens: number) =>
    `The model's answer reached its length limit before any text, after ${outputTokens} tokens, which include the model's thinking. ` +
    "An admin or the agent's owner can raise `brain.max_tokens` in its definition, or choose a model that thinks less or allows longer answers.",
  runnerLost: () =>
    'The machine that did the work was lost after something had been written, so the work was not begun again.',
  noTools: (program: string) => `${program} did not connect to the hub's tools.`,
  noRequest: (program: string) => `${program} ended without asking its model.`,
  requestFailed: (program: string) => `The last model request of ${program} failed.`,
  quotaUsedUp: (program: string) =>
    `The model provider refused a request of ${program}: the quota or credit of the account is used up. An admin can raise it, or wait until it resets.`,
  programFailed: (program: string) => `${program} reported an error.`,
  programSilent: (program: string) => `${program} did nothing for too long and was stopped.`,
  programStopped: (program: string) => `${program} was stopped on its machine.`,
  programSaidNothing: (program: string) => `${program} ended without an answer.`,
  tooMuch: (program: string) => `${program} wrote more than a run may write.`,
  setAside: (phase: Phase) =>
    `The server stopped each time while ${phaseTexts[phase] ?? 'I was at work'}, so I did not go on.`,
}
