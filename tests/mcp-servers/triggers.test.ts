import { expect, test } from 'vitest'
import type { TriggerKey } from '../../src/hub/contract/triggers'
import { checkStandard, createTriggerSecrets, isGithubSigned } from '../../src/mcp-servers/triggers'
import { signEvent } from '../support/github-events'
import { signWebhook } from '../support/sign-webhook'

const toBytes = (text: string) => new Uint8Array(new TextEncoder().encode(text))
const sentWith = (text: string, headers: Record<string, string>) => ({
  body: toBytes(text),
  header: (name: string) => headers[name],
})
const at = 1_614_265_330_000
const vaultKey = btoa('0123456789abcdef0123456789abcdef')

test('O2: GitHub’s documented example is verified, and nothing near it', async () => {
  const secret = "It's a Secret to Everybody"
  const signature = 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17'
  const isSigned = (text: string, given = signature) => isGithubSigned(secret, toBytes(text), given)
  expect(await isSigned('Hello, World!')).toBe(true)
  expect(await isSigned('Hello, World')).toBe(false)
  expect(await isSigned('Hello, World!', signature.toUpperCase())).toBe(false)
  expect(await isSigned('Hello, World!', signature.slice(0, -2))).toBe(false)
  expect(await isSigned('Hello, World!', signature.replace('sha256=', ''))).toBe(false)
  expect(await isSigned('Hello, World!', `${signature.slice(0, -1)}8`)).toBe(false)
})

test('O2: the published vector of Standard Webhooks is verified within five minutes', async () => {
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
  const text = '{"test": 2432232314}'
  const headers = {
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  }
  const check = (change: Record<string, string> = {}, now = at, body = text) =>
    checkStandard(secret, sentWith(body, { ...headers, ...change }), now)
  expect(await check()).toBe('valid')
  const signature = headers['webhook-signature']
  const wrong = `v1,${btoa('x'.repeat(32))}`
  expect(await check({ 'webhook-signature': `v1a,abc ${wrong} ${signature}` })).toBe('valid')
  expect(await check({ 'webhook-signature': wrong })).toBe('signature')
  expect(await check({ 'webhook-signature': '' })).toBe('signature')
  expect(await check({ 'webhook-signature': `${`${wrong} `.repeat(10)}${signature}` })).toBe(
    'signature',
  )
  expect(await check({ 'webhook-signature': signature.replace('v1,', 'v2,') })).toBe('signature')
  expect(await check({ 'webhook-id': 'msg_other' })).toBe('signature')
  expect(await check({ 'webhook-timestamp': '1614265331' })).toBe('signature')
  expect(await check({ 'webhook-timestamp': '' })).toBe('signature')
  expect(await check({}, at, '{"test":2432232314}')).toBe('signature')
  expect(await check({}, at + 300_000)).toBe('valid')
  expect(await check({}, at + 300_001)).toBe('late')
  expect(await check({}, at - 300_000)).toBe('valid')
  expect(await check({}, at - 301_000)).toBe('late')
})

test('O2: secrets differ by trigger and version; the one before holds for its time, and old vault keys', async () => {
  const secrets = createTriggerSecrets([vaultKey])
  const trigger: TriggerKey = {
    id: 't1',
    verify: 'standard',
    secretVersion: 1,
    oldSecretsUntil: [],
  }
  const first = (await secrets.read(trigger)) ?? ''
  expect(first).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
  expect(await secrets.read({ ...trigger, id: 't2' })).not.toBe(first)
  const next = { ...trigger, secretVersion: 2, oldSecretsUntil: [at + 1_000] }
  const second = (await secrets.read(next)) ?? ''
  expect(second).not.toBe(first)
  const send = async (secret: string, of: TriggerKey, now = at, keys = secrets) =>
    keys.check(of, sentWith('{}', await signWebhook(secret, { id: 'm', at, text: '{}' })), now)
  expect(await send(first, trigger)).toBe('valid')
  expect(await send(second, trigger)).toBe('signature')
  expect(await send(first, next)).toBe('valid')
  expect(await send(second, next)).toBe('valid')
  expect(await send(first, next, at + 1_000)).toBe('signature')
  expect(await send(second, next, at + 1_000)).toBe('valid')
  const third = { ...trigger, secretVersion: 3, oldSecretsUntil: [at + 2_000, at + 1_000] }
  expect(await send(first, third)).toBe('valid')
  expect(await send(second, third, at + 1_000)).toBe('valid')
  expect(await send(first, third, at + 1_000)).toBe('signature')
  const otherKey = btoa('another vault key of 32 bytes...')
  expect(await send(first, trigger, at, createTriggerSecrets([otherKey, vaultKey]))).toBe('valid')
  expect(await send(first, trigger, at, createTriggerSecrets([otherKey]))).toBe('signature')
  expect(await createTriggerSecrets([]).read(trigger)).toBeNull()
  expect(await send(first, trigger, at, createTriggerSecrets([]))).toBe('signature')
})

test('O2: a bearer key and a signature of GitHub are checked as such', async () => {
  const secrets = createTriggerSecrets([vaultKey])
  const bearer: TriggerKey = { id: 't1', verify: 'bearer', secretVersion: 1, oldSecretsUntil: [] }
  const secret = (await secrets.read(bearer)) ?? ''
  expect(secret).toMatch(/^rktrigger_[\w-]{43}$/)
  const check = (authorization: string) =>
    secrets.check(bearer, sentWith('', { authorization }), at)
  expect(await check(`Bearer ${secret}`)).toBe('valid')
  expect(await check(`bearer ${secret}`)).toBe('valid')
  for (const wrong of ['', secret, 'Bearer ', `Bearer ${secret}x`, `Bearer ${secret.slice(1)}`]) {
    expect(await check(wrong), wrong).toBe('signature')
  }
  const github = { ...bearer, verify: 'github' as const }
  const signature = await signEvent('{}', (await secrets.read(github)) ?? '')
  const sent = sentWith('{}', { 'x-hub-signature-256': signature })
  expect(await secrets.check(github, sent, at)).toBe('valid')
  expect(await secrets.check({ ...github, id: 't2' }, sent, at)).toBe('signature')
  expect(await secrets.check(bearer, sent, at)).toBe('signature')
})
