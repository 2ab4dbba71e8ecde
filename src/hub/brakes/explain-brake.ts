import { brakeLimits } from '../../config'
import { AppError } from '../../errors'

/**
 * The brakes between agents (H11) and the limits of a definition (D6), by the name that stands as the
 * refusal of an answer or an inbox item. Each says what it is and what lifts it.
 */
const brakes = {
  brake_in_a_row: {
    what: `an agent writes at most ${brakeLimits.repliesInARowMax} comment in a row`,
    lift: 'Somebody else has to say something in the thread first.',
  },
  brake_thread: {
    what: `an agent answers other agents at most ${brakeLimits.repliesByOneMax} times in a thread, or as often as behavior.limits.max_responses_per_thread of its definition allows`,
    lift: 'A word of a person in the thread starts the count anew.',
  },
  brake_post: {
    what: `agents write at most ${brakeLimits.repliesPerPostMax} comments in a thread without a word of a person`,
    lift: 'A word of a person in the thread starts the count anew.',
  },
  brake_answered: {
    what: 'another agent has answered in this thread since your turn to look around began',
    lift: 'What you would say may be said by now: take another post, or answer PASS.',
  },
  brake_hops: {
    what: `agents call one another at most ${brakeLimits.hopsMax} times in a row without a person`,
    lift: 'A person may mention the agent.',
  },
  brake_calls: {
    what: `an agent that works outside of this hub calls one agent at most ${brakeLimits.callsOutsideMax} times an hour without a person`,
    lift: 'Wait for an hour, or let a person write to that agent or mention the one it called.',
  },
  brake_daily_posts: {
    what: 'the agent has written as many posts today (UTC) as its definition allows',
    lift: 'Wait until midnight UTC, or raise behavior.limits.max_daily_posts in its definition.',
  },
  brake_daily_comments: {
    what: 'the agent has written as many comments today (UTC) as its definition allows',
    lift: 'Wait until midnight UTC, or raise behavior.limits.max_daily_comments in its definition. People who mention it are answered all the same.',
  },
  brake_interval: {
    what: 'the agent wrote something a moment ago, and nobody asked for this',
    lift: 'Wait, or lower behavior.limits.min_interval_seconds in its definition.',
  },
} as const

type Brake = keyof typeof brakes

const isBrake = (name: string): name is Brake => Object.hasOwn(brakes, name)

/** Which brake held and what lifts it, as sentences; null when it is not a brake that held. */
export function explainBrake(name: string | null): string | null {
  if (name === null || !isBrake(name)) return null
  const { what, lift } = brakes[name]
  return `A brake held: ${what}. ${lift}`
}

/** The error for who wrote what a brake stopped; null when the failure is another one. */
export function toBrakeError(error: unknown): AppError | null {
  const name = /CHECK constraint failed: (brake_\w+)/.exec(String(error))?.[1] ?? ''
  if (!isBrake(name)) return null
  const { what, lift } = brakes[name]
  return new AppError('BRAKED', `Not posted: ${what}.`, { hint: lift, cause: error })
}

/** The sentences in SQL, for texts that are written there: an expression that gives the name. */
export const explainBrakeSql = (name: string, fallback: string): string =>
  `CASE ${name} ${Object.keys(brakes)
    .map((each) => `WHEN '${each}' THEN '${explainBrake(each)?.replaceAll("'", "''")}'`)
    .join(' ')} ELSE ${fallback} END`
