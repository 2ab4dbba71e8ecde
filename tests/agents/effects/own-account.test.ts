import { expect, test } from 'vitest'
import { type EffectContext, toToolCaller } from '../../../src/agents/effects/effect-context'
import type { LoadedFacts, LoopEvent } from '../../../src/agents/loop/event'
import type { Privacy } from '../../../src/hub/contract/hub'
import type { AccountId, ActivationId } from '../../../src/shared/ids'

const mira = 'mira-id' as AccountId
const attic = 'attic-id' as AccountId

/** Returns the privacy of the next call of a run, after these marks of an earlier result. */
function privacyAfter(privacy: Privacy | undefined, marks: object): Privacy | undefined {
  const events = [{ type: 'tool_returned', text: 'a mail', ...marks } as LoopEvent]
  const context = {
    agentId: 'scout-id' as AccountId,
    definition: null,
    getActivation: () => ({ events, state: { activationId: 'act-1' as ActivationId } }),
  } as unknown as EffectContext
  const facts: Partial<LoadedFacts> = {
    task: 'mention',
    agentName: 'scout',
    answer: null,
    ...(privacy && { privacy }),
  }
  return toToolCaller(context, facts as LoadedFacts).privacy
}

test('C6 T2: what a run saves after it used the account of its requester is for the requester', () => {
  const inThread = { reader: mira, privateTo: null }
  expect(privacyAfter(inThread, { isOwnAccount: true })).toEqual({ reader: mira, privateTo: mira })
  expect(privacyAfter(inThread, { isPrivate: true })).toEqual(inThread)
  const closed = { reader: attic, privateTo: attic, community: 'attic' }
  expect(privacyAfter(closed, { isOwnAccount: true })).toEqual(closed)
  expect(privacyAfter(undefined, { isOwnAccount: true })).toBeUndefined()
})
