import { AwsV4Signer } from 'aws4fetch'
import { aws } from '../../config'
import { AppError } from '../../errors'
import type { Connection } from '../credentials/connection'
import type { OutsideAnswer } from '../fetch/guarded-fetch'
import { readKey } from './credential'
import { type AwsService, explainFailure } from './explain-failure'

interface AwsRequest {
  method: string
  /** Encoded, below the address of the service. */
  path: string
  query?: Record<string, string>
  headers?: Record<string, string>
  body?: string
}

/** Where requests go when no admin has declared another address: one host a service and region. */
const regional = 'amazonaws.com'
export const awsUrl = `https://${regional}`
export const hostsOf = (credential: string): string[] => {
  const region = readKey(credential)?.region
  return region === undefined
    ? []
    : (['s3', 'lambda', 'ssm'] as const).map((service) => `${service}.${region}.${regional}`)
}

/** Sends one signed request (Signature Version 4); the key signs and is never sent. */
export async function askAws(
  outside: Connection | null,
  service: AwsService,
  request: AwsRequest,
): Promise<OutsideAnswer> {
  if (!outside) throw new Error('The gateway opens the service first.')
  const key = outside.credential === null ? null : readKey(outside.credential)
  if (key === null) throw noKey()
  const { method, body } = request
  const url = toUrl(outside.baseUrl, service, key.region, request)
  const signed = await new AwsV4Signer({
    ...{ method, url: url.href, service, region: key.region },
    headers: { ...request.headers, 'x-amz-content-sha256': await hashOf(body ?? '') },
    ...(body !== undefined && { body }),
    accessKeyId: key.access_key_id,
    secretAccessKey: key.secret_access_key,
    ...(key.session_token !== undefined && { sessionToken: key.session_token }),
  }).sign()
  const answer = await outside.fetch({
    method,
    url: signed.url,
    headers: { 'user-agent': 'Rookery', ...Object.fromEntries(signed.headers) },
    bytesMax: aws.answerBytesMax,
    ...(body !== undefined && { body }),
  })
  const clean = withoutSignature(answer, signed.headers)
  if (answer.status >= 300) throw explainFailure(service, clean)
  return clean
}

function toUrl(
  base: URL,
  service: AwsService,
  region: string,
  { path, query = {} }: AwsRequest,
): URL {
  const url = new URL(base)
  if (url.hostname === regional) url.hostname = `${service}.${region}.${regional}`
  url.pathname = `${base.pathname.replace(/\/$/, '')}/${path}`
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
  // Spaces as they are signed.
  url.search = url.search.replaceAll('+', '%20')
  return url
}

async function hashOf(body: string): Promise<string> {
  const bytes = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(body))
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** A signature is good for this request for some minutes, so whoever is asked must not give it back. */
function withoutSignature(answer: OutsideAnswer, signed: Headers): OutsideAnswer {
  const signature = /Signature=([0-9a-f]{64})/.exec(signed.get('authorization') ?? '')?.[1]
  if (signature === undefined || answer.text === null) return answer
  return { ...answer, text: answer.text.replaceAll(signature, '[redacted]') }
}

const noKey = (): AppError =>
  new AppError('UNAVAILABLE', 'The service aws has no credential here.', {
    hint: 'An admin sets it: PUT /api/v1/credentials/<name> with server aws and service aws.',
  })
