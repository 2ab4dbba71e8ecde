import { AsyncLocalStorage } from 'node:async_hooks'

/** What one invocation may send, as Cloudflare documents it. */
export interface InvocationLimits {
  /** Statements to D1; each of a batch counts. https://developers.cloudflare.com/d1/platform/limits/ */
  queriesMax: number
  /** https://developers.cloudflare.com/workers/platform/limits/#subrequests */
  subrequestsMax: number
}

/** Cloudflare also lists 1,000 subrequests to its own services for the free plan; here the lower number holds for all. */
export const freePlan: InvocationLimits = { queriesMax: 50, subrequestsMax: 50 }
export const paidPlan: InvocationLimits = { queriesMax: 1_000, subrequestsMax: 10_000 }

/** One request to the Worker, run of its cron trigger, or event of a Durable Object, and what it has sent so far. */
export interface Invocation {
  name: string
  /** Statements to D1. */
  queries: number
  /** Requests to the internet, and calls of D1, R2, rate limiters and Durable Objects. */
  subrequests: number
  /** The requests to the internet among them. */
  fetches: number
}

/**
 * Where calls are counted: to the one invocation of a request, to the latest one of a Durable Object. The platform resets
 * the limits of an object with each event (`topUpActor` in workerd's src/workerd/io/limit-enforcer.h), so what it
 * still does for an earlier event counts to the latest.
 */
export interface InvocationScope {
  current: Invocation
  limits: InvocationLimits
}

const scopes = new AsyncLocalStorage<InvocationScope>()

export const createInvocation = (name: string): Invocation => ({
  name,
  queries: 0,
  subrequests: 0,
  fetches: 0,
})

/** Runs a function whose calls count to the invocation of the scope. */
export const runInScope = <Result>(scope: InvocationScope, run: () => Result): Result =>
  scopes.run(scope, run)

/** Runs one invocation of the Worker, whose statements and subrequests count together. */
export const runInvocation = <Result>(run: () => Result, limits = paidPlan): Result =>
  runInScope({ current: createInvocation('request'), limits }, run)

/** Whether a plan allows what an invocation has sent. */
export const isWithin = ({ queries, subrequests }: Invocation, limits: InvocationLimits): boolean =>
  queries <= limits.queriesMax && subrequests <= limits.subrequestsMax

/** Counts the statements of one call of D1. @throws when the invocation has sent too many */
export function countQueries(count: number): void {
  const scope = scopes.getStore()
  if (!scope) return
  const { current, limits } = scope
  current.queries += count
  if (current.queries > limits.queriesMax) {
    throw new Error(
      `One invocation sent ${current.queries} statements to D1, and its plan allows ${limits.queriesMax}.`,
    )
  }
}

/** Counts one call of another service. @throws as the platform does when the invocation has sent too many */
export function countSubrequest(kind: 'binding' | 'fetch'): void {
  const scope = scopes.getStore()
  if (!scope) return
  const { current, limits } = scope
  current.subrequests++
  if (kind === 'fetch') current.fetches++
  if (current.subrequests > limits.subrequestsMax) throw new Error('Too many subrequests.')
}
