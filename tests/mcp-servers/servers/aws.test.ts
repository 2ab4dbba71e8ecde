import { beforeAll, describe, expect, test } from 'vitest'
import type { Connect } from '../../../src/mcp-servers/credentials/connection'
import {
  awsUrl,
  checkKey,
  hostsOf,
  readTag,
  readTags,
  secretParts,
} from '../../../src/mcp-servers/servers/aws'
import { aws } from '../../../src/shared/config'
import { awsCredential, awsKey } from '../../support/aws-key'
import { connectService, externalUrls } from '../../support/external-services'
import { fakeConnect } from '../../support/fake-connect'
import { setUpTools } from '../../support/set-up-tools'

/** Wide patterns give nothing here, so each resource is named. */
const grants = [
  'aws:s3:read:artifacts',
  'aws:s3:write:artifacts',
  'aws:s3:read:nothing-here',
  ...['double', 'broken', 'long', 'busy', 'leak', 'nowhere'].map(
    (name) => `aws:lambda:invoke:${name}`,
  ),
  ...['/shop/prod/url', '/shop/prod/key', '/shop/nothing'].map((path) => `aws:ssm:read:${path}`),
]

async function setUp(peer: 's3' | 'aws', credential: string = awsCredential) {
  const baseUrl = externalUrls[peer]
  const connect = await connectService({ server: 'aws', baseUrl, credential })
  const tools = setUpTools({ requested: ['*', ...grants], allowed: grants }, connect)
  const ask = (tool: string, args: object) => tools.answer(`aws_${tool}`, args)
  const fail = async (tool: string, args: object) => {
    const { text, isError } = await tools.call(`aws_${tool}`, args)
    expect(isError, text).toBe(true)
    return text
  }
  return { ...tools, ask, fail }
}

const bucket = 'artifacts'

describe('S3, on a server that checks signatures', () => {
  let s3: Awaited<ReturnType<typeof setUp>>
  beforeAll(async () => {
    s3 = await setUp('s3')
  })

  test.each(['plain.txt', 'reports/2026/may + june (a)=c.csv', '100%/ünïcode ✓/x~y!*.txt'])(
    'M1: %s is written, listed, read and deleted',
    async (key) => {
      const content = `For ${key}: grün & <b>`
      const put = await s3.ask('s3_put', { bucket, key, content })
      expect(put).toMatchObject({ key, etag: expect.stringMatching(/[0-9a-f]{32}/) })
      const { objects } = await s3.ask('s3_list', { bucket, prefix: key.slice(0, 1) })
      expect(objects).toContainEqual({
        key,
        size: new TextEncoder().encode(content).length,
        modified_at: expect.stringMatching(/^\d{4}-/),
      })
      const got = await s3.ask('s3_get', { bucket, key })
      expect(got).toMatchObject({ key, text: content, content_type: 'text/plain; charset=utf-8' })
      expect(await s3.ask('s3_delete', { bucket, key })).toEqual({ key, deleted: true })
      expect(await s3.ask('s3_delete', { bucket, key })).toEqual({ key, deleted: true })
      expect(await s3.fail('s3_get', { bucket, key })).toMatch(
        /^Error: AWS s3 refused the request: NoSuchKey \(404\)\. AWS says: .* Check the name\.$/,
      )
    },
  )

  test('M1, M10: a list comes in pages and by folders, a long object in parts', async () => {
    for (const key of ['list/a/1', 'list/a/2', 'list/b/1', 'list/c']) {
      await s3.ask('s3_put', { bucket, key, content: key })
    }
    const first = await s3.ask('s3_list', { bucket, prefix: 'list/', limit: 3 })
    expect(first.objects).toHaveLength(3)
    const rest = await s3.ask('s3_list', { bucket, prefix: 'list/', cursor: first.next_cursor })
    expect(rest.objects.map(({ key }: { key: string }) => key)).toEqual(['list/c'])
    expect(rest.next_cursor).toBeUndefined()
    const level = await s3.ask('s3_list', { bucket, prefix: 'list/', delimiter: '/' })
    expect(level.folders).toEqual(['list/a/', 'list/b/'])
    expect(level.objects).toMatchObject([{ key: 'list/c' }])
    const content = 'long '.repeat(15_000)
    await s3.ask('s3_put', { bucket, key: 'long', content })
    const begin = await s3.ask('s3_get', { bucket, key: 'long' })
    expect(begin.next_offset).toBe(aws.objectCharsMax)
    const end = await s3.ask('s3_get', { bucket, key: 'long', offset: begin.next_offset })
    expect(begin.text + end.text).toBe(content)
    expect(end.next_offset).toBeUndefined()
  })

  test('M2 M4: each bucket has grants of its own, for reading and for writing', async () => {
    const refused = (tool: string, args: object) => s3.fail(tool, args)
    for (const [tool, args, grant] of [
      ['s3_get', { bucket: 'private', key: 'x' }, 'aws:s3:read:private'],
      ['s3_list', { bucket: 'private' }, 'aws:s3:read:private'],
      ['s3_put', { bucket: 'private', key: 'x', content: '' }, 'aws:s3:write:private'],
      ['s3_delete', { bucket: 'nothing-here', key: 'x' }, 'aws:s3:write:nothing-here'],
      ['lambda_invoke', { function: 'other' }, 'aws:lambda:invoke:other'],
      ['ssm_get', { path: '/shop/other' }, 'aws:ssm:read:/shop/other'],
    ] as const) {
      expect(await refused(tool, args)).toContain(`Error: Missing grant ${grant}:`)
    }
  })

  test('M2: names that would lead elsewhere, or be more than one name, are no names', async () => {
    for (const [tool, args] of [
      ['s3_get', { bucket, key: '../private/x' }],
      ['s3_get', { bucket, key: 'a/../../private/x' }],
      ['s3_get', { bucket, key: './x' }],
      ['s3_list', { bucket: 'artifacts/private' }],
      ['s3_list', { bucket: '*' }],
      ['s3_list', { bucket: 'a..b' }],
      ['lambda_invoke', { function: 'double:live' }],
      ['lambda_invoke', { function: 'arn:aws:lambda:eu-central-1:1:function:double' }],
      ['ssm_get', { path: '/shop/*' }],
      ['ssm_get', { path: '/shop/prod/url:2' }],
    ] as const) {
      expect(await s3.fail(tool, args), JSON.stringify(args)).toMatch(
        /^Error: Invalid arguments for /,
      )
    }
  })

  test('M14: a bucket that is not there, and a key that is not right', async () => {
    expect(await s3.fail('s3_list', { bucket: 'nothing-here' })).toMatch(/NoSuchBucket \(404\)/)
    const wrong = JSON.stringify({ ...awsKey, secret_access_key: 'another-secret-0123' })
    const { fail } = await setUp('s3', wrong)
    const text = await fail('s3_list', { bucket })
    expect(text).toMatch(
      /^Error: AWS s3 refused the request: SignatureDoesNotMatch \(403\)\. .* An admin may have to set the credential again\.$/,
    )
    await setUp('s3')
  })
})

describe('Lambda and the Parameter Store, on a peer that works out signatures itself', () => {
  let peer: Awaited<ReturnType<typeof setUp>>
  beforeAll(async () => {
    peer = await setUp('aws')
  })

  test('M1: a function is called with its payload, and its answer comes back', async () => {
    const answer = await peer.ask('lambda_invoke', { function: 'double', payload: { n: 21 } })
    expect(answer).toEqual({ answer: '{"twice":42}' })
    expect(peer.gateway.describe('aws_lambda_invoke')?.isIdempotent).toBe(false)
  })

  test('M10: a long answer of a function can be read on in to its end', async () => {
    const { text } = await peer.call('aws_lambda_invoke', { function: 'long' })
    const [, handle, offset] = /handle (\S+), offset (\d+)\.\]$/.exec(text) ?? []
    const rest = await peer.call('results_read', {
      handle,
      offset: Number(offset),
      limit: 48 * 1024,
    })
    expect(rest.text).toMatch(/This is the end\.\]\nx{30000,}/)
  })

  test.each([
    [
      'broken',
      'Error: The function broken failed (Unhandled). Output: {"errorMessage":"it fell over","errorType":"Error"}',
    ],
    [
      'nowhere',
      'Error: AWS lambda refused the request: ResourceNotFoundException (404). AWS says: Function not found: arn:aws:lambda:eu-central-1:123456789012:function:nowhere Check the name.',
    ],
    [
      'busy',
      'Error: AWS lambda refused the request: TooManyRequestsException (429). AWS says: Rate Exceeded. Try again later.',
    ],
  ])('M14: the function %s', async (name, words) => {
    expect(await peer.fail('lambda_invoke', { function: name })).toBe(words)
  })

  test('M6: a function that gives the key away, or the signature, gives nothing away', async () => {
    const { answer } = await peer.ask('lambda_invoke', { function: 'leak' })
    expect(answer).toContain('Signature=[redacted]')
    expect(answer).toContain(
      '"key":{"access_key_id":"[redacted]","secret_access_key":"[redacted]"}',
    )
    expect(answer).not.toMatch(/AKIDTEST|tEsT|Signature=[0-9a-f]/)
  })

  test('M1, M6: a parameter is read, and a secret one stays secret', async () => {
    expect(await peer.ask('ssm_get', { path: '/shop/prod/url' })).toEqual({
      path: '/shop/prod/url',
      type: 'String',
      value: 'https://shop.example.com',
      version: 3,
      modified_at: '2023-11-14T22:13:20.500Z',
    })
    const secret = await peer.ask('ssm_get', { path: '/shop/prod/key' })
    expect(secret).toMatchObject({ type: 'SecureString', value: null })
    expect(JSON.stringify(secret)).not.toContain('encrypted')
    expect(await peer.fail('ssm_get', { path: '/shop/nothing' })).toBe(
      'Error: AWS ssm refused the request: ParameterNotFound (400). Check the name.',
    )
  })

  test('M14: a signature that is not taken is an error without the signature', async () => {
    const wrong = JSON.stringify({ ...awsKey, secret_access_key: 'another-secret-0123' })
    const { fail } = await setUp('aws', wrong)
    const text = await fail('ssm_get', { path: '/shop/prod/url' })
    expect(text).toMatch(/InvalidSignatureException \(403\)\. .*set the credential again/)
    expect(text).not.toMatch(/Signature=[0-9a-f]/)
    await setUp('aws')
  })
})

test('M13: without an address of its own, each service is asked in its region and nowhere else', async () => {
  const urls: string[] = []
  const connect: Connect = async (ask) => {
    const opened = await fakeConnect(ask)
    const { fetch } = opened.connection
    const connection = {
      ...opened.connection,
      baseUrl: new URL(awsUrl),
      credential: awsCredential,
      fetch: async (request: Parameters<typeof fetch>[0]) => {
        urls.push(request.url.href)
        return fetch(request)
      },
    }
    return { ...opened, connection }
  }
  const { call } = setUpTools({ requested: ['*', ...grants], allowed: grants }, connect)
  await call('aws_s3_get', { bucket, key: 'a b/c' })
  await call('aws_lambda_invoke', { function: 'double' })
  await call('aws_ssm_get', { path: '/shop/prod/url' })
  expect(urls).toEqual([
    'https://s3.eu-central-1.amazonaws.com/artifacts/a%20b/c',
    'https://lambda.eu-central-1.amazonaws.com/2015-03-31/functions/double/invocations',
    'https://ssm.eu-central-1.amazonaws.com/',
  ])
  expect(hostsOf(awsCredential)).toEqual(urls.map((url) => new URL(url).host))
})

test('M14: what S3 writes is read as it was meant', () => {
  const xml =
    '<List><Item><Key>a&amp;b &lt;Key&gt; &quot;&#39;&#x2713;&#x110000;</Key></Item><Item/><Key>c</Key></List>'
  expect(readTags(xml, 'Item').map((each) => readTag(each, 'Key'))).toEqual(['a&b <Key> "\'✓'])
  expect(readTag(xml, 'Nothing')).toBe('')
})

test('M5: a credential is an access key as JSON, and each part of it is a secret', () => {
  expect(checkKey(awsCredential)).toBeNull()
  for (const wrong of ['AKIDTEST0123456789', '{}', '{"access_key_id":"AKIDTEST0123456789"}']) {
    expect(checkKey(wrong)).toMatch(/^A credential for aws is JSON/)
    expect(checkKey(wrong)).not.toContain('AKIDTEST')
  }
  const whole = JSON.stringify({ ...awsKey, session_token: 'a-token-0123' })
  expect(secretParts(whole)).toEqual([
    awsKey.secret_access_key,
    'a-token-0123',
    awsKey.access_key_id,
  ])
})
