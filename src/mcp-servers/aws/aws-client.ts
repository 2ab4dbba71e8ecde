import { AwsV4Signer } from 'aws4fetch'
import { aws } from '../../shared/config'
import type { Connection } from '../credentials/connection'
import type { ServiceResponse } from '../fetch/guarded-fetch'
import { readKey } from './credential'
import { awsErrors } from './errors'
import { type AwsService, explainFailure } from './explain-failure'

interface AwsRequest {
  method: string
  /** Encoded, below the base URL of the service. */
  path: string
  query?: Record<string, string>
  headers?: Record<string, string>
  body?: string
}

/** The domain of AWS, used unless an admin declares another base URL. */
const regional = 'amazonaws.com'
export const awsUrl = `https://${regional}`

/** Returns the hosts of the credential's region, one for each AWS service. */
export const hostsOf = (credential: string): string[] => {
  const region = readKey(credential)?.region
  return region === undefined
    ? []
    : (['s3', 'lambda', 'ssm'] as const).map((service) => `${service}.${region}.${regional}`)
}

/** Sends a request signed with Signature Version 4. The secret key itself is not sent. */
export async function requestAws(
  outside: Connection | null,
  service: AwsService,
  request: AwsRequest,
): Promise<ServiceResponse> {
  if (!outside) throw new Error('The gateway opens the service first.')
  const key = outside.credential === null ? null : readKey(outside.credential)
  if (key === null) throw awsErrors.noCredential()
  const { method, body } = request
  const url = toUrl(outside.baseUrl, service, key.region, request)
  const signed = await new AwsV4Signer({
    method,
    url: url.href,
    service,
    region: key.region,
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
  // Encode spaces as the signature does.
  url.search = url.search.replaceAll('+', '%20')
  return url
}

async function hashOf(body: string): Promise<string> {
  const bytes = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(body))
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** Redacts the signature from a response: it authorizes this request for some minutes. */
function withoutSignature(answer: ServiceResponse, signed: Headers): ServiceResponse {
  const signature = /Signature=([0-9a-f]{64})/.exec(signed.get('authorization') ?? '')?.[1]
  if (signature === undefined || answer.text === null) return answer
  return { ...answer, text: answer.text.replaceAll(signature, '[redacted]') }
}
