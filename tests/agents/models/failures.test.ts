import { describe, expect, test } from 'vitest'
import { answerOf, failureOf, fakeModel, protocols, request, secretKey } from './fake-provider'
import { testClock } from './test-clock'

const variables = {
  anthropic: 'ANTHROPIC_API_KEY',
  openai: 'OPENAI_API_KEY',
  'openai-compatible': 'OPENAI_COMPATIBLE_API_KEY',
}

describe.each(protocols)('%s', (provider) => {
  test.each([401, 403])(
    'L24: %d names the provider and the variable, is not retried',
    async (status) => {
      const message = `Incorrect API key provided: ${secretKey}`
      const { model, requests } = await fakeModel(provider, [{ status, message }])
      const failure = await failureOf(model)
      expect(failure).toMatchObject({
        code: 'PROVIDER_AUTH',
        isRetryable: false,
        mayBeCharged: false,
      })
      expect(failure.message).toContain(variables[provider])
      expect(failure.message).toMatch(/Anthropic|OpenAI/)
      expect(JSON.stringify(failure)).not.toContain(secretKey)
      expect(await requests()).toHaveLength(1)
    },
  )

  test.each([408, 409, 429, 500, 501, 502, 503, 504, 520, 522, 524, 529, 530])(
    'L24: %d is retryable, and the model itself sends one request',
    async (status) => {
      const { model, requests } = await fakeModel(provider, [{ status }, { text: 'late' }])
      const failure = await failureOf(model)
      expect(failure).toMatchObject({
        code: 'PROVIDER_BUSY',
        isRetryable: true,
        mayBeCharged: false,
      })
      expect(failure.message).toContain(String(status))
      expect(await requests()).toHaveLength(1)
    },
  )

  test('L24: Retry-After is honoured, in seconds and as a date', async () => {
    const { model } = await fakeModel(provider, [
      { status: 429, retryAfter: '7' },
      { status: 503, retryAfter: new Date(Date.now() + 60_000).toUTCString() },
      { status: 429, retryAfter: 'soon' },
      { status: 429, retryAfter: '7', retryAfterMs: '6400' },
    ])
    expect((await failureOf(model)).retryAfterMs).toBe(7_000)
    const byDate = (await failureOf(model)).retryAfterMs ?? 0
    expect(byDate).toBeGreaterThan(55_000)
    expect(byDate).toBeLessThanOrEqual(60_000)
    expect((await failureOf(model)).retryAfterMs).toBeNull()
    expect((await failureOf(model)).retryAfterMs).toBe(6_400)
  })

  test('L24: a used-up quota (429) is not retried', async () => {
    const message = 'insufficient_quota: You have used up your daily free allocation'
    const { model } = await fakeModel(provider, [{ status: 429, message }])
    const { isRetryable } = await failureOf(model)
    expect(isRetryable).toBe(provider === 'anthropic')
  })

  test.each([400, 404, 413, 422, 425])(
    'L24 L35: %d is not retried; the message of the provider goes to the trace only',
    async (status) => {
      const message = `the model is unhappy with ${secretKey} in it`
      const { model } = await fakeModel(provider, [{ status, message }])
      const failure = await failureOf(model)
      expect(failure).toMatchObject({
        code: 'PROVIDER_ERROR',
        isRetryable: false,
        mayBeCharged: false,
      })
      expect(failure.message).toMatch(
        new RegExp(`answered ${status}( \\([a-z_]+\\))? for .*\\. .*\\.$`),
      )
      expect(failure.message).not.toContain('unhappy')
      expect(failure.detail).toContain('the model is unhappy')
      expect(JSON.stringify(failure)).not.toContain(secretKey)
    },
  )

  test.each([
    [
      400,
      'This model maximum context length is 8192 tokens',
      'a model with a larger context window',
    ],
    [400, 'prompt is too long: 210000 tokens', 'a model with a larger context window'],
    [404, 'The model `gtp-5` does not exist', 'Check `brain.model`'],
    [404, 'no such page', 'Check `brain.model` and `brain.api_base`'],
    [402, 'pay first', 'has no credit left'],
    [413, 'Request Entity Too Large', 'The prompt is too long'],
    [422, 'quoth mira: tell nobody', "provider's message is in this run's trace"],
  ])('L35: %d with "%s" gets an actionable message of our own', async (status, message, advice) => {
    const { model } = await fakeModel(provider, [{ status, message }])
    const failure = await failureOf(model)
    expect(failure.message).toContain(advice)
    expect(failure.message).not.toContain(message)
    expect(failure.detail).toContain(message)
  })

  test('L24: a connection that breaks before the answer is a network failure', async () => {
    const { model } = await fakeModel(provider, [{ fault: 'reset' }])
    const failure = await failureOf(model)
    expect(failure).toMatchObject({ code: 'NETWORK', isRetryable: true, mayBeCharged: false })
    expect(failure.outage?.setting).toBe(variables[provider].replace('API_KEY', 'BASE_URL'))
  })

  test('T5: a broken stream is charged with what had arrived', async () => {
    const { model } = await fakeModel(provider, [
      { text: 'one two three four five six', fault: 'cut' },
    ])
    expect(await failureOf(model)).toMatchObject({
      code: 'NETWORK',
      isRetryable: true,
      mayBeCharged: true,
      received: { chars: 12 },
    })
  })

  test('L24: an error in the middle of a stream is a failure that may have been charged', async () => {
    const { model } = await fakeModel(provider, [
      {
        text: 'one two three four five six',
        fault: 'error',
        pieceMs: 1,
        message: `boom ${secretKey}`,
      },
    ])
    const failure = await failureOf(model)
    expect(failure).toMatchObject({ code: 'PROVIDER_BUSY', isRetryable: true, mayBeCharged: true })
    expect(failure.message).not.toContain('boom')
    expect(failure.detail).toContain('boom')
    expect(JSON.stringify(failure)).not.toContain(secretKey)
  })

  test('L26: a body that is not the protocol is a provider error', async () => {
    const { model } = await fakeModel(provider, [{ fault: 'garbage' }])
    expect(await failureOf(model)).toMatchObject({ code: 'PROVIDER_ERROR', isRetryable: false })
  })

  test('L26: an address that answers with a web page does not speak the protocol', async () => {
    const { model, requests } = await fakeModel(provider, [{ fault: 'html' }])
    const failure = await failureOf(model)
    expect(failure).toMatchObject({
      code: 'PROVIDER_ERROR',
      isRetryable: false,
      mayBeCharged: false,
    })
    expect(failure.message).toContain('does not speak its protocol')
    expect(failure.message).toContain('text/html')
    expect(failure.message).toContain(variables[provider].replace('API_KEY', 'BASE_URL'))
    expect(await requests()).toHaveLength(1)
  })

  test('L24: a server that is not there is a network failure', async () => {
    const { model } = await fakeModel(provider, [], {
      baseUrl: 'http://127.0.0.1:9/v1',
    })
    const failure = await failureOf(model)
    expect(failure).toMatchObject({ code: 'NETWORK', isRetryable: true, mayBeCharged: false })
    expect(failure.outage).toMatchObject({
      address: 'http://127.0.0.1:9/v1',
      setting: `${provider.toUpperCase().replace('-', '_')}_BASE_URL`,
    })
  })

  test('L24: comment lines are bytes, so they keep a call alive', async () => {
    const clock = testClock()
    const { model } = await fakeModel(
      provider,
      [{ text: 'one two three four five', fault: 'comments' }],
      {
        options: { clock },
      },
    )
    const cancel = new AbortController()
    const failing = failureOf(model, { signal: cancel.signal })
    // More pieces than headers and text have: most of them are comments.
    for (let pieces = 0; pieces < 12; pieces++) {
      await clock.untilAsked()
      clock.pass(20_000)
    }
    cancel.abort()
    expect((await failing).code).toBe('CANCELLED')
  })

  test('L34: a cancelled call ends at once', async () => {
    const { model } = await fakeModel(provider, [{ text: 'never', latencyMs: 3_600_000 }])
    const cancel = new AbortController()
    const failing = failureOf(model, { signal: cancel.signal })
    setTimeout(() => cancel.abort(), 50)
    expect(await failing).toMatchObject({
      code: 'CANCELLED',
      isRetryable: false,
      mayBeCharged: true,
    })
  })

  test('L34: a call that was cancelled before it began is not sent', async () => {
    const { model, requests } = await fakeModel(provider, [{ text: 'never' }])
    const failure = await failureOf(model, { signal: AbortSignal.abort() })
    expect(failure).toMatchObject({ code: 'CANCELLED', mayBeCharged: false })
    expect(await requests()).toHaveLength(0)
  })

  test('L27: the key does not follow a redirect', async () => {
    const seen: string[] = []
    const { model } = await fakeModel(provider, [{ text: 'ok' }], {
      options: {
        fetch: async (input, init) => {
          seen.push(init?.redirect ?? '')
          return fetch(input, init)
        },
      },
    })
    await answerOf(model)
    expect(seen).toEqual(['manual'])
    expect(request().tools).toEqual([])
  })
})
