import { afterEach, describe, expect, test, vi } from 'vitest'
import type { MailMessage } from '../../../src/hub/contract/mail'
import { createMailSender } from '../../../src/mcp-servers/outbox/mail-sender'
import { countMailConnections, mailSettings, parseMail, readMail } from '../../support/read-mail'

const vaultKeys = ['dGVzdHMtb25seS10ZXN0cy1vbmx5LXRlc3RzLW9ubHk=']
const toSettings = (fields: Record<string, string>) => {
  const { ROOKERY_ORIGIN, ...rest } = { ...mailSettings, ...fields }
  return { ...rest, ROOKERY_ORIGIN: [ROOKERY_ORIGIN] }
}
const create = (fields: Record<string, string> = {}) =>
  createMailSender({ settings: toSettings(fields), vaultKeys })

const toMessage = (to: string, fields: Partial<MailMessage> = {}): MailMessage => ({
  id: crypto.randomUUID(),
  to,
  subject: 'A subject',
  text: 'Text\n',
  html: '<p>Text</p>\n',
  unsubscribeUrl: null,
  ...fields,
})
const newAddress = (how = 'ana') => `${how}+${crypto.randomUUID().slice(0, 8)}@mail.test`
const never = () => false

afterEach(() => vi.restoreAllMocks())

describe('O4: mail by SMTP', () => {
  test('has both parts, a stable Message-ID and a way out with one click', async () => {
    const to = newAddress()
    const unsubscribeUrl = 'https://hub.test/mail/unsubscribe?account=1&token=2'
    const message = toMessage(to, {
      subject: 'Grüße 🍑',
      text: 'Grüße\n.\nfrom here\n',
      unsubscribeUrl,
    })
    expect(await create().send([message, message], never)).toMatchObject([
      { kind: 'sent' },
      { kind: 'sent' },
    ])
    const mails = await readMail(to)
    expect(mails.map(({ from }) => from)).toEqual(['hub@hub.example', 'hub@hub.example'])
    const [first, second] = mails.map(parseMail)
    expect(first?.headers).toMatchObject({
      from: 'Rookery <hub@hub.example>',
      to,
      'message-id': `<${message.id}@hub.example>`,
      'list-unsubscribe': `<${unsubscribeUrl}>`,
      'list-unsubscribe-post': 'List-Unsubscribe=One-Click',
      'auto-submitted': 'auto-generated',
    })
    expect(first?.text).toBe('Grüße\n.\nfrom here\n')
    expect(first?.html).toContain('<p>Text</p>')
    expect(second?.headers['message-id']).toBe(first?.headers['message-id'])
  })

  test.each([
    ['a line break', 'Hello\r\nBcc: evil@mail.test'],
    ['a lone carriage return', 'Hello\rBcc: evil@mail.test'],
    ['Unicode line separators', 'Hello\u2028Bcc: evil@mail.test\u2029\u0085X'],
    ['10,000 characters', 'Grüße '.repeat(1_700)],
  ])('adds no header for %s in a subject', async (_, subject) => {
    const to = newAddress()
    await create().send([toMessage(to, { subject })], never)
    const [mail] = await readMail(to)
    const { headers } = parseMail(mail ?? { content: '' })
    expect(headers.bcc).toBeUndefined()
    expect(headers.subject).toBeDefined()
    for (const line of (mail?.content ?? '').split('\r\n')) {
      expect(line.length).toBeLessThanOrEqual(998)
      expect(line).not.toMatch(/[\r\n]/)
    }
  })

  test('sends nothing to a second recipient that an address smuggles in', async () => {
    const evil = newAddress('evil')
    const [result] = await create().send([toMessage(`ana@mail.test>\r\nRCPT TO:<${evil}`)], never)
    expect(result?.kind).not.toBe('sent')
    expect(await readMail(evil)).toEqual([])
  })

  test.each([
    ['nobody', 'unknown', 'The mail server answered: 550 5.1.1 No such user'],
    ['refused', 'refused', 'The mail server answered: 550 5.7.1 We do not want this'],
    ['later', 'later', 'The mail server answered: 451 4.3.0 Come back later'],
  ])('goes on after an answer for %s', async (how, kind, answer) => {
    const to = newAddress()
    const messages = [toMessage(newAddress(how)), toMessage(to)]
    const before = await countMailConnections()
    expect(await create().send(messages, never)).toMatchObject([{ kind, answer }, { kind: 'sent' }])
    expect(await readMail(to)).toHaveLength(1)
    expect(await countMailConnections()).toBe(before + 1)
  })

  test('ends at a broken connection and leaves the rest', async () => {
    const to = newAddress()
    const messages = [toMessage(newAddress('breaks')), toMessage(to)]
    expect(await create().send(messages, never)).toMatchObject([{ kind: 'failed' }])
    expect(await readMail(to)).toEqual([])
  })

  test('gives up on a server that does not answer', async () => {
    const to = newAddress()
    const messages = [toMessage(newAddress('hangs')), toMessage(to)]
    expect(await create().send(messages, never)).toMatchObject([
      { kind: 'failed', answer: 'The mail server did not answer within 10 s.' },
    ])
    expect(await readMail(to)).toEqual([])
  })

  test('says what keeps it from a server', async () => {
    const [closed] = await create({ ROOKERY_MAIL_URL: 'smtp://127.0.0.1:1' }).send(
      [toMessage(newAddress())],
      never,
    )
    expect(closed).toMatchObject({ kind: 'failed', answer: expect.stringContaining('127.0.0.1:1') })
    // The server offers no TLS, and a password is never sent without.
    const url = mailSettings.ROOKERY_MAIL_URL.replace('//', '//rook:a-secret-word@')
    const [plain] = await create({ ROOKERY_MAIL_URL: url }).send([toMessage(newAddress())], never)
    expect(plain?.kind).toBe('failed')
    expect(JSON.stringify([closed, plain])).not.toContain('a-secret-word')
  })

  test('is early over when its time is', async () => {
    const to = newAddress()
    expect(await create().send([toMessage(to)], () => true)).toEqual([])
    expect(await readMail(to)).toEqual([])
  })
})

describe('O4: mail by the HTTP API of a service', () => {
  const answerWith = (status: number, body: object) => {
    const sent: { url: string; headers: Record<string, string>; body: Record<string, unknown> }[] =
      []
    vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
      const request = new Request(input as string, init as RequestInit)
      const headers = Object.fromEntries(request.headers)
      sent.push({ url: request.url, headers, body: await request.json() })
      return Response.json(body, { status })
    })
    return sent
  }

  test('reaches Postmark without tracking', async () => {
    const sent = answerWith(200, { ErrorCode: 0 })
    const sender = create({ ROOKERY_MAIL_URL: 'postmark://a-token' })
    const message = toMessage('ana@mail.test', { unsubscribeUrl: 'https://hub.test/u' })
    expect(await sender.send([message], never)).toMatchObject([{ kind: 'sent' }])
    expect(sent).toMatchObject([
      {
        url: 'https://api.postmarkapp.com/email',
        headers: { 'x-postmark-server-token': 'a-token' },
        body: {
          From: '"Rookery" <hub@hub.example>',
          To: 'ana@mail.test',
          Subject: 'A subject',
          TrackOpens: false,
          TrackLinks: 'None',
          Headers: expect.arrayContaining([
            { Name: 'List-Unsubscribe', Value: '<https://hub.test/u>' },
            { Name: 'Message-ID', Value: `<${message.id}@hub.example>` },
          ]),
        },
      },
    ])
  })

  test('reaches Resend with an idempotency key', async () => {
    const sent = answerWith(200, { id: '1' })
    const message = toMessage('ana@mail.test')
    const sender = create({ ROOKERY_MAIL_URL: 'resend://re_key' })
    expect(await sender.send([message], never)).toMatchObject([{ kind: 'sent' }])
    expect(sent).toMatchObject([
      {
        url: 'https://api.resend.com/emails',
        headers: { authorization: 'Bearer re_key', 'idempotency-key': message.id },
        body: { from: '"Rookery" <hub@hub.example>', to: ['ana@mail.test'], html: message.html },
      },
    ])
  })

  test.each([
    ['postmark', 422, { ErrorCode: 406 }, 'unknown'],
    ['postmark', 422, { ErrorCode: 300 }, 'refused'],
    ['postmark', 401, { ErrorCode: 10 }, 'failed'],
    ['resend', 422, { name: 'validation_error' }, 'refused'],
    ['resend', 403, { name: 'invalid_api_key' }, 'failed'],
    ['resend', 429, {}, 'failed'],
    ['resend', 500, {}, 'failed'],
  ])('reads how %s answers %i %j', async (service, status, body, kind) => {
    answerWith(status, body)
    const sender = create({ ROOKERY_MAIL_URL: `${service}://key` })
    expect(await sender.send([toMessage('ana@mail.test')], never)).toMatchObject([{ kind }])
  })
})

test('tokens are for one purpose, and an old vault key still knows its own', async () => {
  const [old] = vaultKeys
  const token = await create().createToken('unsubscribe 1')
  const rotated = createMailSender({
    settings: toSettings({}),
    vaultKeys: ['bmV3LW9ubHktbmV3LW9ubHktbmV3LW9ubHktbmV3ISE=', old ?? ''],
  })
  expect(await rotated.isToken('unsubscribe 1', token)).toBe(true)
  expect(await rotated.isToken('unsubscribe 2', token)).toBe(false)
  expect(await rotated.createToken('unsubscribe 1')).not.toBe(token)
})

test('says what is missing', () => {
  const problem = (fields: Record<string, string>, keys = vaultKeys) =>
    createMailSender({ settings: toSettings(fields), vaultKeys: keys }).problem
  expect(problem({})).toBeNull()
  expect(problem({ ROOKERY_MAIL_URL: '' })).toContain('ROOKERY_MAIL_URL')
  expect(problem({ ROOKERY_MAIL_FROM: '' })).toContain('ROOKERY_MAIL_FROM')
  expect(problem({}, [])).toContain('ROOKERY_VAULT_KEY')
})
