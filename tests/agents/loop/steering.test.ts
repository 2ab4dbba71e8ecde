import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Message } from '../../../src/agents/loop/message'
import { hasReadUntrusted } from '../../../src/agents/loop/privacy'
import { composeReply } from '../../../src/agents/loop/reply'
import { buildTranscript } from '../../../src/agents/loop/transcript'
import type { SteeringItem } from '../../../src/hub/contract/hub'
import type { AccountId, CommentId, InboxItemId } from '../../../src/shared/ids'
import { decisionsOf, driveSteered } from './drive'
import { facts, Scenario, woken } from './scenario'

const item = (over: Partial<SteeringItem> = {}): SteeringItem => ({
  id: 'item-1' as InboxItemId,
  from: { id: 'mira' as AccountId, name: 'mira', kind: 'human' },
  commentId: 'c1' as CommentId,
  text: 'Only the lagoon.',
  isModeration: false,
  isUntrusted: false,
  ...over,
})

/** Drives the loop with comments that join the run. */
class Steered extends Scenario {
  hint(): this {
    this.apply({ ...woken(this.at++), maySteer: true } as ReturnType<typeof woken>)
    return this
  }
  join(effect: 'steer' | 'call_model', ...items: SteeringItem[]): this {
    this.apply({ type: 'steered', at: this.at++, effectId: this.only(effect), items })
    return this
  }
}
const begin = () => new Steered().wake().load() as Steered
const lastUserText = (messages: Message[]): string => {
  const last = messages.at(-1)
  return last?.role === 'user' ? last.text : ''
}
const replyOf = ({ state, events }: Scenario) =>
  state.ending && composeReply(state.ending, events, ['mira'])

describe('before a model call', () => {
  test('C2: a comment found by the renewal is the last message of the call that follows, and costs no step', () => {
    const run = begin().answer('', ['a']).returnTool('a') as Steered
    const { iteration, promptTokens } = run.state
    run.join('call_model', item())
    expect(run.pendingTypes()).toEqual(['call_model'])
    expect(run.state.iteration).toBe(iteration)
    expect(run.state.promptTokens).toBeGreaterThan(promptTokens)
    const text = lastUserText(buildTranscript(run.events))
    expect(text).toContain('author="mira" kind="human" asks="true">\nOnly the lagoon.')
    expect(text).toContain('its requester wrote in the thread')
    run.answer('12 on the lagoon.')
    expect(replyOf(run)).toBe('@mira 12 on the lagoon.')
  })

  test('X15: a review that joins the run is data from outside', () => {
    const run = begin().answer('', ['a']).returnTool('a') as Steered
    run.join(
      'call_model',
      item({ from: { id: 'mira' as AccountId, name: 'rookery', kind: 'system' } }),
    )
    const text = lastUserText(buildTranscript(run.events))
    expect(text).toContain('a review from outside reached the thread')
    expect(text).toContain('author="review" kind="outside" asks="true">')
  })

  test('C2: a comment found by the renewal of a repeated call costs no step either, and wins none', () => {
    const run = begin().answer('', ['a']).returnTool('a').failModel().sleep() as Steered
    const { iteration } = run.state
    run.join('call_model', item())
    expect(run.pendingTypes()).toEqual(['call_model'])
    expect(run.state.iteration).toBe(iteration)
  })

  test('C2: it never stands between a call and its result', () => {
    const run = begin().answer('', ['a', 'b']).returnTool('a') as Steered
    run.hint()
    expect(run.pendingTypes()).toEqual(['call_tool'])
    run.returnTool('b')
    expect(run.pendingTypes()).toEqual(['call_model'])
  })
})

describe('after an answer', () => {
  test('C2: without a hint an answer is committed at once', () => {
    expect(begin().answer('412.').pendingTypes()).toEqual(['commit'])
  })

  test('C2: after a hint the hub is asked; without a comment the answer stands, and it is asked once', () => {
    const run = begin().hint().answer('412.') as Steered
    expect(run.pendingTypes()).toEqual(['steer'])
    run.join('steer')
    expect(run.pendingTypes()).toEqual(['commit'])
    expect(replyOf(run)).toBe('@mira 412.')
  })

  test('C2: with a comment the model answers again, and only that answer is posted', () => {
    const run = begin().hint().answer('412.') as Steered
    run.join('steer', item())
    expect(run.pendingTypes()).toEqual(['call_model'])
    const messages = buildTranscript(run.events)
    expect(messages.at(-2)).toEqual({ role: 'assistant', text: '412.', calls: [] })
    run.answer('12 on the lagoon.')
    expect(replyOf(run)).toBe('@mira 12 on the lagoon.')
  })

  test('C2: when no further call is possible the answer is committed, and the comment waits', () => {
    const run = new Steered().wake().load({
      limits: { iterations: 1, tokens: 1_000, durationMs: 60_000, contextTokens: 8_000 },
    }) as Steered
    expect(run.hint().answer('412.').pendingTypes()).toEqual(['commit'])
  })

  test('C2: a stop while the hub is asked ends the run, with what it wrote so far', () => {
    const run = begin().hint().answer('412.') as Steered
    run.apply({ type: 'cancel_requested', at: run.at++, charge: null })
    expect(run.state.ending?.outcome).toBe('cancelled')
    expect(replyOf(run)).toContain('412.')
  })
})

test('C2: a comment of a moderator asks for nothing, and the run counts as having read untrusted text', () => {
  const run = begin().answer('', ['a']).returnTool('a') as Steered
  const loaded = facts({ hasUntrusted: false })
  expect(hasReadUntrusted(loaded, run.events)).toBe(false)
  run.join('call_model', item({ isModeration: true, isUntrusted: true, text: 'Keep it short.' }))
  expect(hasReadUntrusted(loaded, run.events)).toBe(true)
  const text = lastUserText(buildTranscript(run.events))
  expect(text).toContain('a moderator of the community')
  expect(text).not.toContain('asks=')
})

test('C2: whatever happens, a comment that joined is in the prompt once, after complete steps, and no answer leaves it out', () => {
  const choices = fc.array(fc.integer({ min: 1, max: 100_000 }), { minLength: 1, maxLength: 60 })
  let met = 0
  fc.assert(
    fc.property(choices, fc.boolean(), (list, isDisturbed) => {
      const { events } = driveSteered([...list, 28, 1], isDisturbed)
      const joined = events.flatMap((event, at) =>
        event.type === 'steered' ? event.items.map(({ text }) => ({ text, at })) : [],
      )
      met += joined.length
      const messages = buildTranscript(events)
      const isCompacted = events.some(({ type }) => type === 'compacted')
      for (const { text } of joined) {
        const places = messages.flatMap((message, at) =>
          message.role === 'user' && message.text.includes(`>\n${text}`) ? [at] : [],
        )
        if (!isCompacted) expect(places).toHaveLength(1)
        for (const place of places) {
          const before = messages[place - 1]
          expect(before?.role === 'assistant' ? before.calls : []).toEqual([])
        }
      }
      const last = [...decisionsOf(events)].findLast(({ after }) => after.ending !== null)
      if (last?.after.ending?.reply !== 'answer') return
      const lastAnswer = events.findLastIndex(({ type }) => type === 'model_answered')
      for (const { at } of joined) expect(at).toBeLessThan(lastAnswer)
    }),
    { numRuns: 500 },
  )
  expect(met).toBeGreaterThan(50)
})
