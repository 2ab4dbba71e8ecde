import * as z from 'zod'
import type { AppError, ErrorCode } from '../../shared/errors'
import { excerpt, toResponseError } from '../fetch/explain-answer'
import type { ServiceResponse } from '../fetch/guarded-fetch'
import { awsErrors } from './errors'
import { readTag } from './read-xml'

export type AwsService = 's3' | 'lambda' | 'ssm'

/** Converts an error response of AWS to an error that a model can act on. */
export function explainFailure(service: AwsService, answer: ServiceResponse): AppError {
  const { code, message, region } = readFailure(answer)
  if (code === '') return toResponseError(`aws ${service}`, answer)
  const { kind, hint } = explainCode(code, answer.status)
  const words = message === '' ? '' : `AWS says: ${message}`
  const place = region === '' ? '' : ` The bucket is in ${region}.`
  const advice = hint === '' ? '' : ` ${hint}`
  return awsErrors.refused(kind, service, code, answer.status, `${words}${place}${advice}`.trim())
}

/** Reads an error response: XML of S3, JSON or a header of the others. */
function readFailure({ headers, text }: ServiceResponse) {
  const body = text ?? ''
  const named = headers.get('x-amzn-errortype') ?? ''
  const parsed = body.trimStart().startsWith('{') ? readJson(body) : readXml(body)
  const code = named === '' ? parsed.code : named
  return {
    code: (/([A-Za-z0-9.]{1,80})(:.*)?$/.exec(code.replace(/:[\s\S]*/, ''))?.[1] ?? '').trim(),
    message: excerpt(parsed.message),
    region: excerpt(parsed.region),
  }
}

const readXml = (text: string) => ({
  code: readTag(text, 'Code'),
  message: readTag(text, 'Message'),
  region: readTag(text, 'Region'),
})

const failure = z.object({
  __type: z.string().default(''),
  Type: z.string().default(''),
  message: z.string().optional(),
  Message: z.string().optional(),
})

function readJson(text: string) {
  const none = { code: '', message: '', region: '' }
  try {
    const read = failure.safeParse(JSON.parse(text)).data
    if (!read) return none
    const code = (read.__type || read.Type).replace(/^.*#/, '')
    return { ...none, code, message: read.message ?? read.Message ?? '' }
  } catch {
    return none
  }
}

function explainCode(code: string, status: number): { kind: ErrorCode; hint: string } {
  if (/^(NoSuch|NotFound|ResourceNotFound|ParameterNotFound)/.test(code) || status === 404) {
    return { kind: 'NOT_FOUND', hint: 'Check the name.' }
  }
  if (/Throttl|SlowDown|TooManyRequests/.test(code) || status === 429 || status >= 500) {
    return { kind: 'UNAVAILABLE', hint: 'Try again later.' }
  }
  if (/AuthorizationHeaderMalformed|PermanentRedirect|TemporaryRedirect/.test(code)) {
    const hint = 'An admin sets the region in the credential.'
    return { kind: 'UNAVAILABLE', hint }
  }
  if (/Signature|InvalidAccessKey|InvalidClientToken|Expired|UnrecognizedClient/.test(code)) {
    return { kind: 'UNAVAILABLE', hint: 'An admin may have to set the credential again.' }
  }
  if (status === 403)
    return { kind: 'FORBIDDEN', hint: 'An admin may have to give the key more permissions.' }
  return { kind: 'VALIDATION', hint: '' }
}
