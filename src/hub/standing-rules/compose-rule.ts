import { standingRules } from '../../shared/config'
import type { KeyPrefixes } from '../../shared/settings'
import { toArgumentRules } from '../contract/argument-rules'
import type { ArgumentRule } from '../contract/hub'
import { findWholeCredentials } from '../posts/credential-patterns'
import { ruleErrors } from './errors'
import type { RuleInput } from './inputs'
import type { RuleScope } from './queries'

/** What a rule covers: what is shown before it is made, and what is stored. */
export interface ComposedRule {
  arguments: ArgumentRule[]
  /** Null: outside of communities, unless it holds anywhere. */
  community: Pick<RuleScope, 'communityId' | 'communityName'> | null
  isAnywhere: boolean
  /** Null: whoever requests. */
  requester: RuleScope['requesters'][number] | null
  endsAt: number
}

const dayMs = 86_400_000

/**
 * Returns the rule for a call: the call itself unless `input` says more.
 *
 * @param raw the arguments of the call as JSON
 * @throws VALIDATION for arguments that no rule can describe, and for a call without a single requester
 */
export function composeRule(
  raw: string,
  scope: Pick<RuleScope, 'communityId' | 'communityName' | 'requesters'>,
  input: RuleInput,
  { now, keys }: { now: number; keys: KeyPrefixes },
): ComposedRule {
  if (raw.length > standingRules.argumentsCharsMax) throw ruleErrors.longArguments()
  const args = parse(raw)
  if (hasSecret(args, keys)) throw ruleErrors.secretArguments()
  const rules = toArgumentRules(args, input.prefixes)
  if (!rules) throw ruleErrors.unmatchable()
  const { communityId, communityName, requesters } = scope
  const [requester, ...others] = requesters
  if (!input.any_requester && (!requester || others.length > 0)) throw ruleErrors.manyRequesters()
  return {
    arguments: rules,
    isAnywhere: input.any_community,
    community: input.any_community || communityId === null ? null : { communityId, communityName },
    requester: input.any_requester ? null : (requester ?? null),
    endsAt: now + input.days * dayMs,
  }
}

function parse(raw: string): unknown {
  try {
    return raw.trim() === '' ? {} : JSON.parse(raw)
  } catch {
    return undefined
  }
}

function hasSecret(value: unknown, keys: KeyPrefixes): boolean {
  if (typeof value === 'string') return findWholeCredentials(value, keys).length > 0
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(
    ([name, each]) => hasSecret(name, keys) || hasSecret(each, keys),
  )
}
