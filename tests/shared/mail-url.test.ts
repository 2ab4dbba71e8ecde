import { describe, expect, test } from 'vitest'
import { findSecrets } from '../../src/shared/log'
import { parseMailUrl, parseSender } from '../../src/shared/mail-url'

describe('O4: ROOKERY_MAIL_URL', () => {
  test.each([
    ['smtps://ana:p%40ss%2F@smtp.example.com', 'smtp.example.com', 465, 'tls', 'p@ss/'],
    ['smtp://ana:pass@smtp.example.com:2525', 'smtp.example.com', 2525, 'starttls', 'pass'],
    ['smtp://smtp.example.com', 'smtp.example.com', 587, 'starttls', undefined],
    ['smtp://127.0.0.1:25', '127.0.0.1', 25, 'plain', undefined],
    ['smtp://[::1]:25', '::1', 25, 'plain', undefined],
    // A password is never sent in the clear, not even to this machine.
    ['smtp://ana:pass@localhost:25', 'localhost', 25, 'starttls', 'pass'],
  ])('%s', (url, host, port, security, password) => {
    const server = parseMailUrl(url)
    expect(server).toMatchObject({ kind: 'smtp', host, port, security })
    expect(server?.kind === 'smtp' ? server.login?.password : null).toBe(password)
  })

  test.each([
    '',
    'http://smtp.example.com',
    'smtps://',
    'smtps://ana@smtp.example.com',
    'smtps://ana:%zz@smtp.example.com',
    'smtps://smtp.example.com/path',
    'resend://',
    'resend://two words',
  ])('%j is refused', (url) => expect(parseMailUrl(url)).toBeNull())

  test('names a service by its key', () => {
    expect(parseMailUrl('postmark://a-token')).toEqual({ kind: 'postmark', key: 'a-token' })
    expect(parseMailUrl('resend://re_Key')).toEqual({ kind: 'resend', key: 're_Key' })
  })

  test('keeps its password and key out of the log', () => {
    const secrets = (url: string) => findSecrets({ ROOKERY_MAIL_URL: url })
    expect(secrets('smtps://ana:p%40ssword@smtp.example.com')).toContain('p@ssword')
    expect(secrets('resend://re_Key')).toContain('re_Key')
  })
})

test.each([
  ['hub@example.com', { name: '', address: 'hub@example.com' }],
  ['The hub <hub@example.com>', { name: 'The hub', address: 'hub@example.com' }],
  ['hub', null],
  ['a <hub@example.com', null],
  ['a <hub@example.com>\r\nBcc: <evil@example.com>', null],
  ['a\r\nBcc: evil@example.com <hub@example.com>', null],
  ['a "b" <hub@example.com>', null],
])('O4: ROOKERY_MAIL_FROM %j', (text, sender) => expect(parseSender(text)).toEqual(sender))
