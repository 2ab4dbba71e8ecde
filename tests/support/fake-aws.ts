/**
 * Lambda and the Parameter Store, in Node over real HTTP, with the shapes that AWS documents. Request
 * signatures (Version 4) are computed from the documentation, not with the library that signed them.
 */
import { createHash, createHmac } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { awsKey } from './aws-key.ts'
import { listen } from './listen.ts'

type Headers = Record<string, string>
interface Answer {
  status: number
  body: unknown
  headers?: Headers
}

const sha256 = (text: string | Buffer): string => createHash('sha256').update(text).digest('hex')
const hmac = (key: string | Buffer, text: string): Buffer =>
  createHmac('sha256', key).update(text).digest()

/** Returns the service that a request was signed for; null when its signature is invalid. */
function findSigned(request: IncomingMessage, body: Buffer): string | null {
  const { headers, method = 'GET', url = '/' } = request
  const signed =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/.exec(
      headers.authorization ?? '',
    )
  if (!signed) return null
  const [, id, day = '', region = '', service = '', names = '', signature] = signed
  const [path = '/', query = ''] = url.split('?')
  const canonical = [
    method,
    path.split('/').map(encodeURIComponent).join('/'),
    query.split('&').sort().join('&'),
    ...names.split(';').map((name) => `${name}:${String(headers[name]).trim()}`),
    '',
    names,
    sha256(body),
  ].join('\n')
  const scope = `${day}/${region}/${service}/aws4_request`
  const text = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, sha256(canonical)].join('\n')
  const key = [day, region, service, 'aws4_request'].reduce<string | Buffer>(
    hmac,
    `AWS4${awsKey.secret_access_key}`,
  )
  const isRight = id === awsKey.access_key_id && hmac(key, text).toString('hex') === signature
  return isRight && headers['x-amz-content-sha256'] === sha256(body) ? service : null
}

const json = (status: number, body: unknown, headers: Headers = {}): Answer => ({
  status,
  body,
  headers,
})

const functions: Record<string, (payload: unknown, signed: string) => Answer> = {
  double: (payload) => json(200, { twice: 2 * Number((payload as { n: number }).n) }),
  broken: () =>
    json(
      200,
      { errorMessage: 'it fell over', errorType: 'Error' },
      { 'x-amz-function-error': 'Unhandled' },
    ),
  long: () => json(200, 'x'.repeat(90_000)),
  busy: () =>
    json(
      429,
      { Reason: 'ConcurrentInvocationLimitExceeded', Type: 'User', message: 'Rate Exceeded.' },
      { 'x-amzn-errortype': 'TooManyRequestsException' },
    ),
  // Returns its input, and secrets it was not sent but could know.
  leak: (_payload, signed) =>
    json(200, { signed, key: awsKey, twice: btoa(JSON.stringify(awsKey)) }),
}

function invoke(name: string, body: Buffer, signed: string): Answer {
  const run = functions[name]
  if (run) return run(JSON.parse(body.toString()), signed)
  const message = `Function not found: arn:aws:lambda:eu-central-1:123456789012:function:${name}`
  return json(
    404,
    { Type: 'User', Message: message },
    { 'x-amzn-errortype': 'ResourceNotFoundException:http://internal.amazon.com/' },
  )
}

const parameters: Record<string, { Type: string; Value: string }> = {
  '/shop/prod/url': { Type: 'String', Value: 'https://shop.example.com' },
  '/shop/prod/key': { Type: 'SecureString', Value: 'AQICAHencryptedencrypted' },
}

function getParameter(request: IncomingMessage, body: Buffer): Answer {
  const { Name, WithDecryption } = JSON.parse(body.toString())
  const isAsked = request.headers['x-amz-target'] === 'AmazonSSM.GetParameter' && !WithDecryption
  const found = isAsked ? parameters[Name] : undefined
  if (!found) return json(400, { __type: 'ParameterNotFound' })
  const ARN = `arn:aws:ssm:eu-central-1:123456789012:parameter${Name}`
  return json(200, {
    Parameter: {
      Name,
      ARN,
      Version: 3,
      DataType: 'text',
      LastModifiedDate: 1_700_000_000.5,
      ...found,
    },
  })
}

function answer(request: IncomingMessage, body: Buffer): Answer {
  const service = findSigned(request, body)
  if (service === null) {
    return json(403, {
      __type: 'com.amazon.coral.service#InvalidSignatureException',
      message: `The request signature we calculated does not match the signature you provided: ${request.headers.authorization}`,
    })
  }
  const invoked = /^\/2015-03-31\/functions\/([^/]+)\/invocations$/.exec(request.url ?? '')
  if (service === 'lambda' && invoked) {
    return invoke(invoked[1] ?? '', body, String(request.headers.authorization))
  }
  if (service === 'ssm' && request.url === '/') return getParameter(request, body)
  return json(404, { __type: 'UnknownOperationException' })
}

export const startFakeAws = () =>
  listen((request, response, body) => {
    const { status, body: said, headers } = answer(request, body)
    response
      .writeHead(status, { 'content-type': 'application/x-amz-json-1.1', ...headers })
      .end(JSON.stringify(said))
  })
