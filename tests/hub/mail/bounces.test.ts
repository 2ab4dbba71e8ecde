import { env } from 'cloudflare:workers'
import { beforeEach, describe, expect, test } from 'vitest'
import { triggerLimits } from '../../../src/shared/config'
import { findSecrets } from '../../../src/shared/log'
import { mailSettings } from '../../support/read-mail'
import { signWebhook } from '../../support/sign-webhook'
import { signIn } from '../../web/open-pages'
import { createTestHub, type TestHub } from '../create-test-hub'

const password = 'a long pass:word of postmark'
const signingSecret = `whsec_${btoa('0123456789abcdef0123456789abcdef')}`
const toHub = (url: string, secret: string) =>
  createTestHub({ ...mailSettings, ROOKERY_MAIL_URL: url, ROOKERY_MAIL_HOOK_SECRET: secret })
const postmark = toHub('postmark://a-server-token', password)
const resend = toHub('resend://a-key-of-resend', signingSecret)
const hourMs = 3_600_000

beforeEach(async () => {
  await env.DB.prepare('DELETE FROM mail_addresses').run()
})

/** Gives a new account a confirmed address. */
async function newReader(hub: TestHub, address = `ana+${crypto.randomUUID()}@mail.test`) {
  const { id, key } = await hub.join(`mira-${crypto.randomUUID().slice(0, 6)}`, 'human')
  await env.DB.prepare(
    `INSERT INTO mail_addresses (account_id, address, normalized, created_at, confirmed_at, token_hash)
     VALUES (?1, ?2, ?3, ?4, ?4, '')`,
  )
    .bind(id, address, address.toLowerCase(), hub.clock.now())
    .run()
  hub.clock.advance(1)
  return { id, key, address }
}

const readStop = ({ id }: { id: string }) =>
  env.DB.prepare('SELECT stopped_at, reason FROM mail_addresses WHERE account_id = ?')
    .bind(id)
    .first<{ stopped_at: number | null; reason: string | null }>()

const readNotices = async ({ id }: { id: string }) =>
  (
    await env.DB.prepare(`SELECT content FROM inbox_items WHERE account_id = ? AND type = 'system'`)
      .bind(id)
      .all<{ content: string }>()
  ).results.map(({ content }) => content)

const send = (hub: TestHub, text: string, headers: Record<string, string>) =>
  hub.fetch('/api/v1/mail/bounces', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: text,
  })

/** One of the two services: what it sends, and how it proves that it does. */
interface Service {
  name: string
  hub: TestHub
  /** A report; `at` is when it happened. */
  report(kind: 'hard' | 'soft' | 'spam' | 'other', to: string, at: number): object
  prove(text: string, at: number): Promise<Record<string, string>>
  /** Proofs that are none. */
  forge(text: string, at: number): Promise<Record<string, string>>[]
}

const toBasic = (text: string) => ({ authorization: `Basic ${btoa(text)}` })
/** Svix's names of the headers of Standard Webhooks. */
const toSvix = (headers: Record<string, string>) =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.replace('webhook-', 'svix-'), value]),
  )

const iso = (at: number) => new Date(at).toISOString()

const services: Service[] = [
  {
    name: 'Postmark',
    hub: postmark,
    // https://postmarkapp.com/developer/webhooks/bounce-webhook
    report: (kind, Email, at) => {
      if (kind === 'other') return { RecordType: 'Delivery', Recipient: Email }
      const RecordType = kind === 'spam' ? 'SpamComplaint' : 'Bounce'
      const Type = { hard: 'HardBounce', soft: 'SoftBounce', spam: 'SpamComplaint' }[kind]
      return {
        RecordType,
        Type,
        ID: 4323372036854,
        TypeCode: 1,
        Name: 'Hard bounce',
        Tag: '',
        MessageID: '883953f4-6105-42a2-a16a-77a8eac79483',
        ServerID: 23,
        Metadata: {},
        Description: 'The server was unable to deliver your message',
        From: 'hub@hub.example',
        Details: 'smtp;550 5.1.1 No such \u202euser',
        Email,
        BouncedAt: iso(at),
        DumpAvailable: true,
        Inactive: kind !== 'soft',
        CanActivate: true,
        Subject: 'Test',
      }
    },
    prove: async () => toBasic(`rookery:${password}`),
    forge: () => [
      Promise.resolve({}),
      Promise.resolve(toBasic(`rookery:${password}x`)),
      Promise.resolve(toBasic('rookery:')),
      Promise.resolve(toBasic(password.replace(':', '_'))),
      Promise.resolve({ authorization: `Bearer ${password}` }),
      Promise.resolve({ authorization: 'Basic ===' }),
    ],
  },
  {
    name: 'Resend',
    hub: resend,
    // https://resend.com/docs/webhooks/emails/bounced
    report: (kind, to, at) => {
      const type = { hard: 'Permanent', soft: 'Transient', spam: '', other: '' }[kind]
      const event = { hard: 'bounced', soft: 'bounced', spam: 'complained', other: 'delivered' }
      return {
        type: `email.${event[kind]}`,
        created_at: iso(at),
        data: {
          created_at: iso(at),
          email_id: '56761188-7520-42d8-8898-ff6fc54ce618',
          to: [to],
          from: 'Rookery <hub@hub.example>',
          subject: 'Test',
          ...(type && {
            bounce: { type, subType: 'General', message: 'smtp;550 5.1.1 No such \u202euser' },
          }),
        },
      }
    },
    prove: async (text, at) => toSvix(await signWebhook(signingSecret, { id: 'msg_1', at, text })),
    forge: (text, at) => {
      const other = `whsec_${btoa('another secret of another endpoint')}`
      const sign = (
        of: Partial<{ id: string; at: number; text: string }>,
        secret = signingSecret,
      ) => signWebhook(secret, { id: 'msg_1', at, text, ...of }).then(toSvix)
      return [
        Promise.resolve({}),
        sign({}, other),
        sign({ text: `${text} ` }),
        sign({}).then((headers) => ({ ...headers, 'svix-id': 'msg_2' })),
        sign({}).then((headers) => ({ ...headers, 'svix-timestamp': '1' })),
        sign({}).then((headers) => ({ ...headers, 'svix-signature': 'v1,' })),
      ]
    },
  },
]

describe.each(services)('O4: what $name reports', ({ name, hub, report, prove, forge }) => {
  const post = async (body: object | string, at = hub.clock.now()) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    return send(hub, text, await prove(text, at))
  }

  test.each([
    ['a bounce for good', 'hard', 'smtp;550 5.1.1 No such user'],
    ['a complaint about spam', 'spam', 'reported as spam'],
  ] as const)('stops an address after %s, and says so', async (_, kind, reason) => {
    const reader = await newReader(hub)
    const other = await newReader(hub)
    const answer = await post(report(kind, reader.address, hub.clock.now()))
    expect([answer.status, await answer.json()]).toMatchObject([200, { stopped: 1 }])
    expect(await readStop(reader)).toEqual({
      stopped_at: hub.clock.now(),
      reason: expect.stringContaining(reason),
    })
    expect((await readStop(reader))?.reason).toContain(name)
    expect(await readNotices(reader)).toEqual([
      expect.stringContaining(`Mail to ${reader.address} was stopped.`),
    ])
    expect(await readStop(other)).toMatchObject({ stopped_at: null })
    const settings = await hub.call('/settings/notifications', { key: reader.key })
    expect(settings.body.notifications.mail.stopped_reason).toContain(reason)
    const page = await (await signIn(hub, reader.key)).read('/settings/notifications')
    expect(page).toContain(reason)
    const list = await (await signIn(hub)).read('/admin/mail')
    expect([list.includes(reader.address), list.includes(reason)]).toEqual([true, true])
  })

  test('changes nothing the second time', async () => {
    const reader = await newReader(hub)
    const body = report('hard', reader.address.toUpperCase(), hub.clock.now())
    expect(await (await post(body)).json()).toMatchObject({ stopped: 1 })
    const stopped = await readStop(reader)
    hub.clock.advance(1_000)
    expect(await (await post(body)).json()).toMatchObject({ stopped: 0 })
    expect(await readStop(reader)).toEqual(stopped)
    expect(await readNotices(reader)).toHaveLength(1)
  })

  test('stops no address that was entered after it', async () => {
    const at = hub.clock.now()
    hub.clock.advance(1_000)
    const reader = await newReader(hub)
    // The address that the account had before.
    await post(report('hard', 'before@mail.test', hub.clock.now()))
    // The same address, entered again since: a report that comes late, or is sent again by somebody.
    expect(await (await post(report('hard', reader.address, at))).json()).toMatchObject({
      stopped: 0,
    })
    expect(await readStop(reader)).toMatchObject({ stopped_at: null })
    expect(await readNotices(reader)).toEqual([])
  })

  test.each([
    ['a bounce that can end by itself', 'soft'],
    ['another event', 'other'],
  ] as const)('stops nothing after %s', async (_, kind) => {
    const reader = await newReader(hub)
    const answer = await post(report(kind, reader.address, hub.clock.now()))
    expect([answer.status, await answer.json()]).toMatchObject([200, { stopped: 0 }])
    expect(await readStop(reader)).toMatchObject({ stopped_at: null })
  })

  test('says nothing of an address that nobody here has', async () => {
    const answer = await post(report('hard', 'nobody@mail.test', hub.clock.now()))
    expect([answer.status, await answer.json()]).toMatchObject([200, { stopped: 0 }])
  })

  test('is refused when somebody else sent it', async () => {
    const reader = await newReader(hub)
    const text = JSON.stringify(report('hard', reader.address, hub.clock.now()))
    for (const headers of await Promise.all(forge(text, hub.clock.now()))) {
      const answer = await send(hub, text, headers)
      expect([headers, answer.status]).toEqual([headers, 401])
    }
    expect(await readStop(reader)).toMatchObject({ stopped_at: null })
  })

  test.each([
    '',
    'no json',
    '[]',
    'null',
    '{}',
    '{"type":"email.bounced","RecordType":"Bounce"}',
    '{"type":"email.bounced","created_at":"x","data":{},"RecordType":"Bounce","Email":1}',
    '{"type":"email.bounced","created_at":"2026-01-01T00:00:00Z","data":{"to":"a@b.c"},"RecordType":"Bounce","Email":"a@b.c","BouncedAt":"soon"}',
  ])('is refused as %j', async (text) => {
    expect((await post(text)).status).toBe(400)
  })

  test('is refused when it is huge', async () => {
    const reader = await newReader(hub)
    const body = report('hard', reader.address, hub.clock.now())
    const huge = { ...body, Content: 'x'.repeat(triggerLimits.bodyBytesMax) }
    expect((await post(huge)).status).toBe(413)
    expect(await readStop(reader)).toMatchObject({ stopped_at: null })
  })

  test('is asked for on the mail page of admins, without the secret', async () => {
    const html = await (await signIn(hub)).read('/admin/mail')
    expect(html).toContain('/api/v1/mail/bounces')
    for (const secret of [password, signingSecret]) expect(html).not.toContain(secret)
  })
})

test('O4: a report of Resend that is late or early is refused', async () => {
  const reader = await newReader(resend)
  const body = services[1]?.report('hard', reader.address, resend.clock.now()) ?? {}
  const text = JSON.stringify(body)
  for (const ms of [-hourMs, hourMs]) {
    const headers = await services[1]?.prove(text, resend.clock.now() + ms)
    expect((await send(resend, text, headers ?? {})).status).toBe(401)
  }
  expect(await readStop(reader)).toMatchObject({ stopped_at: null })
})

test('O4: a hub without a mail service, or without its secret, takes no reports and says why', async () => {
  const noSecret = createTestHub({ ...mailSettings, ROOKERY_MAIL_URL: 'postmark://token' })
  const wrong = toHub('resend://key', 'not the secret of resend')
  for (const hub of [createTestHub(), createTestHub(mailSettings), noSecret, wrong]) {
    expect((await send(hub, '{}', toBasic(`rookery:${password}`))).status).toBe(404)
  }
  const read = async (hub: TestHub) => (await signIn(hub)).read('/admin/mail')
  expect(await read(noSecret)).toContain('ROOKERY_MAIL_HOOK_SECRET is not set')
  expect(await read(wrong)).toContain('must be the signing secret')
  expect(await read(createTestHub(mailSettings))).not.toContain('/mail/bounces')
})

test('O4: the secret of reports is kept out of logs', () => {
  expect(findSecrets({ ROOKERY_MAIL_HOOK_SECRET: password })).toEqual([password])
})
