import { describe, expect, test } from 'vitest'
import type { ModelRequestRefusal } from '../../../src/agents/contract/coding-agents'
import { offlineText } from '../../../src/agents/model-gateway/create-model-gateway'
import { refusalStatuses } from '../../../src/agents/model-gateway/gateway-errors'
import type { ModelProtocol } from '../../../src/shared/runner-protocol'
import { toErrorBody } from '../../support/fake-model-wire'
import { errorOf, notReached } from './errors-of'
import { createHarness, protocols, runToken, secretKey, wires } from './gateway-harness'

/** Words at which programs compact their conversation and ask again. */
const overflowWords =
  /too long|context.?(length|window|size)|too many tokens|token limit|maximum|reduce the length|exceed/i

const wireNames = {
  'anthropic-messages': 'anthropic',
  'openai-chat': 'chat',
  'openai-responses': 'responses',
} as const
const toFailed = (protocol: ModelProtocol, status: number, headers = {}, message?: string) =>
  Response.json(toErrorBody(wireNames[protocol], status, message ?? `Failed with ${status}`), {
    status,
    headers,
  })

describe.each(protocols)('%s', (protocol) => {
  test('X4, X8: every refusal ends the program: no status that it tries again', async () => {
    for (const reason of Object.keys(refusalStatuses) as ModelRequestRefusal[]) {
      const message = `The run has used up its requests (${reason}).`
      const harness = createHarness(protocol, { admit: () => ({ ok: false, reason, message }) })
      const response = await harness.send()
      expect([400, 401], reason).toContain(response.status)
      expect(response.headers.get('x-should-retry')).toBe('false')
      expect(response.headers.has('retry-after')).toBe(false)
      const error = await errorOf(protocol, response)
      expect(error.message).toBe(message)
      if (protocol !== 'anthropic-messages') expect(error.code).toBe(reason)
      expect([harness.sent, harness.settled]).toEqual([[], []])
    }
  })

  test('X4: a request that only has to wait is one that programs send again', async () => {
    const admit = () =>
      ({ ok: false, reason: 'budget_exhausted', message: 'Wait.', retryAt: 1_004_200 }) as const
    const response = await createHarness(protocol, { admit }).send()
    expect([response.status, response.headers.get('retry-after')]).toEqual([429, '5'])
    expect(response.headers.get('x-should-retry')).toBe('true')
  })

  test.each([
    [400, 400, false],
    [401, 400, false],
    [403, 400, false],
    [404, 400, false],
    [413, 413, false],
    [429, 429, true],
    [500, 500, true],
    [503, 503, true],
    [504, 504, true],
    [529, 529, true],
    [302, 400, false],
  ])(
    'X4: a provider that answers %i is passed on as %i, and charged only when it may have worked on',
    async (status, shown, retries) => {
      const harness = createHarness(protocol, {
        answer: () =>
          toFailed(
            protocol,
            status,
            { location: 'https://elsewhere.test/', 'x-account': 'acct', 'retry-after': '7' },
            `No: key ${secretKey} at https://anthropic.test/v1 or openai.test or compatible.test`,
          ),
      })
      const response = await harness.send()
      expect(response.status).toBe(shown)
      expect(response.headers.get('x-should-retry')).toBe(String(retries))
      expect(response.headers.get('retry-after')).toBe(retries ? '7' : null)
      const whole = JSON.stringify([[...response.headers], await errorOf(protocol, response)])
      expect(whole).not.toContain(secretKey)
      expect(whole).not.toMatch(/acct|elsewhere|https?:/)
      expect(harness.sent).toHaveLength(1)
      await harness.allSettled()
      expect(harness.settled).toMatchObject([
        [1, { status, finish: 'error', usage: null, mayBeCharged: status === 504 }],
      ])
      expect(JSON.stringify(harness.settled)).not.toContain(secretKey)
    },
  )

  test('X4: a quota that is used up, and a long wait, end the program', async () => {
    const body = {
      error: { type: 'insufficient_quota', code: 'insufficient_quota', message: 'No quota' },
    }
    const quota = createHarness(protocol, { answer: () => Response.json(body, { status: 429 }) })
    const isOpenAI = protocol !== 'anthropic-messages'
    expect((await quota.send()).status).toBe(isOpenAI ? 400 : 429)
    await quota.allSettled()
    // By its code, whatever the words are.
    const problem = isOpenAI ? expect.stringMatching(/quota is used up.*No quota/) : '429: No quota'
    expect(quota.settled).toMatchObject([[1, { problem }]])
    const later = createHarness(protocol, {
      answer: () => toFailed(protocol, 429, { 'retry-after': '3600' }),
    })
    const response = await later.send()
    expect([response.status, response.headers.get('retry-after')]).toEqual([400, null])
  })

  test('X4: without a model the hub answers itself, and a wrong provider is refused with words', async () => {
    for (const stream of [true, false]) {
      const offline = createHarness(protocol, { model: 'offline/extractive' })
      expect(await (await offline.send({ stream })).text()).toContain(offlineText)
      await offline.allSettled()
      expect(offline.sent).toEqual([])
      expect(offline.settled).toMatchObject([
        [1, { status: 200, finish: 'stop', mayBeCharged: false }],
      ])
    }
    const other = protocol === 'anthropic-messages' ? 'openai/gpt-5' : 'anthropic/claude-sonnet-4-5'
    const wrong = createHarness(protocol, { model: other })
    const response = await wrong.send()
    expect(response.status).toBe(400)
    const { message } = await errorOf(protocol, response)
    expect(message).toContain('does not speak this protocol')
    expect(message).not.toMatch(overflowWords)
    await wrong.allSettled()
    expect(wrong.settled).toMatchObject([[1, { ...notReached, mayBeCharged: false }]])
    const unset = createHarness(protocol, {
      place: {
        provider: wires[protocol].model.split('/')[0] ?? '',
        apiBase: 'https://elsewhere.test/v1',
      },
    })
    const sent = await unset.send()
    // A server that needs no key gets the request, and no key: it was not set for this address.
    if (protocol === 'openai-chat') expect(unset.sent[0]?.headers.has('authorization')).toBe(false)
    else expect([sent.status, unset.sent]).toEqual([400, []])
  })

  test('X3: nothing is done without a token of a running activation', async () => {
    const harness = createHarness(protocol)
    const { path } = wires[protocol]
    for (const headers of [{}, { authorization: 'Bearer other' }, { 'x-api-key': 'other' }]) {
      const response = await harness.call(path, { method: 'POST', headers, body: '{}' })
      expect(response.status).toBe(401)
      await errorOf(protocol, response)
    }
    expect([harness.admitted, harness.callers]).toEqual([[], []])
    const headers = { 'x-api-key': runToken }
    await harness.call(path, {
      method: 'POST',
      headers,
      body: JSON.stringify(wires[protocol].body),
    })
    expect(harness.callers).toEqual(['agent'])
    expect(harness.admitted).toMatchObject([{ attempt: 2, protocol }])
  })
})
