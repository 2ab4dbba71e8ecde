import type { Context, Handler } from 'hono'
import { bodyLimits, type RateClass } from '../../shared/config'
import type { HubEnv } from './hub-env'

/** What a route accepts: how often it can be called, and which body is read. */
export interface EntryRule {
  rate: RateClass | ((c: Context<HubEnv>) => RateClass)
  /**
   * `upload`: what the handler reads itself, after it has authenticated the sender. `model`: JSON of a request
   * to a model, with pictures. `secret`: a short form, which is read also when the address has to wait.
   */
  body: BodyKind
  /**
   * Returns what a request signs in or joins with, besides the credential that any request can have: a request
   * whose address has to wait is handled when the hub gave that out.
   */
  shows?: (c: Context<HubEnv>) => string | undefined | Promise<string | undefined>
}

export type BodyKind = 'none' | 'form' | 'secret' | 'json' | 'model' | 'upload'

const {
  formBytesMax,
  secretFormBytesMax,
  jsonBytesMax,
  modelBytesMax,
  uploadBytesMax,
  readMs,
  uploadReadMs,
} = bodyLimits

/** Limits of a body by the rule of its route. A body that is not read may still be sent. */
export const bodyLimitsByKind: Record<BodyKind, { bytesMax: number; readMs: number }> = {
  none: { bytesMax: jsonBytesMax, readMs },
  form: { bytesMax: formBytesMax, readMs },
  secret: { bytesMax: secretFormBytesMax, readMs },
  json: { bytesMax: jsonBytesMax, readMs },
  model: { bytesMax: modelBytesMax, readMs },
  upload: { bytesMax: uploadBytesMax, readMs: uploadReadMs },
}

/** The rule of a page and its form. */
export const pageRule: EntryRule = {
  rate: ({ req }) => (req.method === 'GET' || req.method === 'HEAD' ? 'read' : 'write'),
  body: 'form',
}

/** The rule of a path without a route. */
export const unknownPathRule: EntryRule = { ...pageRule, body: 'none' }

/** Returns the rule of a route of the JSON API. */
export const toEntryRule = (route: { rate: RateClass; body?: unknown }): EntryRule => ({
  rate: route.rate,
  body: route.body === undefined ? 'none' : route.rate === 'upload' ? 'upload' : 'json',
})

const rules = new WeakMap<object, EntryRule>()

/** Declares the rule of a handler, by which its requests are counted and read before it runs. */
export function declareEntry<Declared extends Handler<HubEnv>>(
  rule: EntryRule,
  handler: Declared,
): Declared {
  rules.set(handler, rule)
  return handler
}

/** Returns the declared rule of a handler; undefined when it has none. */
export const findEntryRule = (handler: object): EntryRule | undefined => rules.get(handler)

/** Returns the rule of the first declared handler among those that match a request. */
export function matchEntryRule(handlers: Iterable<object>): EntryRule {
  for (const handler of handlers) {
    const rule = rules.get(handler)
    if (rule) return rule
  }
  return unknownPathRule
}
