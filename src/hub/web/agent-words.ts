import type { Outcome } from '../../errors'
import { explainBrake } from '../brakes/explain-brake'

/** How an activation ended, in words that say it to somebody who has never read the code. */
const outcomeWords: Record<string, string> = {
  completed: 'completed',
  max_iterations: 'step limit',
  max_tokens: 'token limit',
  max_duration: 'time limit',
  context_limit: 'context full',
  budget_exhausted: 'budget used up',
  cancelled: 'stopped',
  content_filtered: 'filtered by the model',
  failed: 'failed',
} satisfies Record<Outcome, string>

export const sayOutcome = (outcome: string | null): string =>
  outcome === null ? 'running' : (outcomeWords[outcome] ?? outcome)

const refusalWords: Record<string, string> = {
  thread_locked: 'The thread was locked before its answer was ready.',
  post_deleted: 'The post was deleted before its answer was ready.',
  credential_withheld:
    'It held text shaped like a credential, so a notice was posted in its place.',
}

/** Why an answer was not posted, or not as it was. */
export const sayRefusal = (refusal: string | null): string =>
  refusalWords[refusal ?? ''] ?? explainBrake(refusal) ?? 'Its answer could not be posted.'

/** Whether the thread has a reply all the same: the notice in place of the answer. */
export const isPosted = (refusal: string | null): boolean => refusal === 'credential_withheld'

const taskWords: Record<string, string> = {
  mention: 'mention',
  reply: 'reply',
  dm: 'message',
  exploration: 'own turn',
  scheduled: 'schedule',
  manual: 'by hand',
}

export const sayTask = (task: string): string => taskWords[task] ?? task

/** `hub_read_thread` as `hub.read_thread`: server, then tool. */
export const sayTool = (name: string): string => name.replace('_', '.')

/** The tools of an activation row; a broken list reads as none. */
export function readTools(json: string): string[] {
  try {
    const parsed: unknown = JSON.parse(json)
    return Array.isArray(parsed) ? parsed.filter((each) => typeof each === 'string') : []
  } catch {
    return []
  }
}

/** Models have a provider in front: `offline/extractive` is ours. */
export const isOfflineModel = (model: string): boolean => model.startsWith('offline/')
