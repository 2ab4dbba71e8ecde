import { afterEach, expect, test, vi } from 'vitest'
import { createOtlpExporter } from '../../../src/agents/run/otlp'
import type { ActivationId } from '../../../src/shared/ids'
import { createLog } from '../../../src/shared/log'
import { ended, loaded, returned, toStoredLog, withOwnAccount, woken } from '../../support/run-log'

const activation = 'activation-1' as ActivationId

function setUp(hasContent = false) {
  const fetched = vi.spyOn(globalThis, 'fetch').mockImplementation(async () => new Response('{}'))
  const lines: string[] = []
  const exporter = createOtlpExporter({
    endpoint: 'http://collector.test',
    headers: undefined,
    hub: 'Test',
    hasContent,
    redact: (text) => text,
    log: createLog({
      level: 'warn',
      redact: (text) => text,
      now: () => 0,
      write: (_level, line) => lines.push(line),
    }),
  })
  return { exporter, fetched, lines }
}

afterEach(() => vi.restoreAllMocks())

test.each([
  ['not_json', '{"version":4,"events":[{"type":"wo'],
  ['other_version', '{"version":2,"events":[]}'],
  ['invalid', '{"version":4}'],
  ['invalid', '{"version":4,"events":[{"type":"loaded","at":1}]}'],
])(
  'L43: a stored log that cannot be read (%s) is skipped, logged once and counted',
  async (problem, stored) => {
    const { exporter, fetched, lines } = setUp()
    await exporter.push(activation, stored)
    expect(fetched).not.toHaveBeenCalled()
    expect(lines).toHaveLength(1)
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: 'warn', activation, reason: problem })
    expect(exporter.takeFailures()).toBe(1)
  },
)

test('L43: a stored log that can be read is sent once and not counted as a failure', async () => {
  const { exporter, fetched, lines } = setUp()
  await exporter.push(activation, toStoredLog([woken(activation), loaded(), ended()]))
  expect(fetched).toHaveBeenCalledOnce()
  expect(lines).toEqual([])
  expect(exporter.takeFailures()).toBe(0)
})

test('C6 T21: a collector never gets what the account of a requester returned', async () => {
  const { exporter, fetched } = setUp(true)
  const events = [
    woken(activation),
    loaded({ prompt: [{ role: 'user', text: 'PROMPT' }] }),
    returned('c'),
    ended(),
  ]
  const stored = toStoredLog(events)
  const bodyOf = (call: number) => String(fetched.mock.calls[call]?.[1]?.body)
  await exporter.push(activation, stored)
  expect(bodyOf(0)).toContain('PROMPT')
  await exporter.push(activation, withOwnAccount(stored))
  expect(bodyOf(1)).not.toContain('PROMPT')
})

test('L43: failures whose commit did not reach the hub are counted again, with those since', async () => {
  const { exporter } = setUp()
  const fail = () => exporter.push(activation, 'unreadable')
  await fail()
  const lost = exporter.takeFailures()
  await fail()
  exporter.restoreFailures(lost)
  expect(exporter.takeFailures()).toBe(2)
  expect(exporter.takeFailures()).toBe(0)
})
