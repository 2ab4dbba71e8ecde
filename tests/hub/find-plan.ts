import { freePlan, type InvocationLimits, paidPlan } from '../support/platform-invocation'

/** Requests that may send more statements than an invocation of the free plan; docs/scale.md lists them. */
const paidRequests = [
  // deletes the words of an account with it
  /^DELETE \/api\/v1\/accounts\/[^/]+$/,
  /^POST \/a\/[^/]+\/delete$/,
  // `npm run import` sends 25 records at a time, but a request may have hundreds
  /^POST \/api\/v1\/import$/,
  // empties the hub: each table is a statement
  /^POST \/api\/v1\/restore$/,
]

/** Returns the limits within which the hub answers a request. */
export function findPlan({ method, url }: Request): InvocationLimits {
  const request = `${method} ${new URL(url).pathname}`
  return paidRequests.some((pattern) => pattern.test(request)) ? paidPlan : freePlan
}
