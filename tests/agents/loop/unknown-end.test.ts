import { describe, expect, test } from 'vitest'
import { composeReply } from '../../../src/agents/loop/reply'
import { buildTranscript } from '../../../src/agents/loop/transcript'
import { Scenario } from './scenario'

const started = () => new Scenario().wake().load()

describe.each(['interrupted', 'other'] as const)('an answer that ends as %s', (finish) => {
  test.each(['I will look.', ''])(
    'L23: its calls are not run: it ends with the text so far (%j) and the reason',
    (text) => {
      const scenario = started().answer(text, ['a'], finish)
      expect(scenario.pendingTypes()).toEqual(['commit'])
      const { ending } = scenario.state
      expect(ending).toMatchObject({ outcome: 'failed', error: { code: 'PROVIDER_ERROR' } })
      const reply = ending && composeReply(ending, scenario.events, [])
      expect(reply?.startsWith(text)).toBe(true)
      expect(reply).toContain('calls were not run')
    },
  )

  test('L4 L23: each of its calls has a result that states it was not run', () => {
    const { events } = started().answer('', ['a', 'b'], finish)
    const refused = { isError: true, text: expect.stringContaining('may be incomplete') }
    expect(buildTranscript(events).at(-1)).toMatchObject({ results: [refused, refused] })
  })
})
