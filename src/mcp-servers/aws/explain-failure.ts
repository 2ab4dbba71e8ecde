import * as z from 'zod'
import { AppError, type ErrorCode } from '../../errors'
import { excerpt, toError } from '../fetch/explain-answer'
import type { OutsideAnswer } from '../fetch/guarded-fetch'
import { readTag } from './read-xml'

export type AwsService = 's3' | 'lambda' | 'ssm'

/** A failure in words that a model can act on. */
export function explainFailure(service: AwsService, answer: OutsideAnswer): AppError {
  const { code, message, region } = readFailure(answer)
  if (code === '') return toError(`aws ${service}`, answer)
  const { kind, hint } = explainCode(code, answer.status)
  const place = region === '' ? '' : ` It is in ${region}.`
  return new AppError(kind, `AWS ${service} refused it: ${code} (${answer.status}).`, {
    hint: `${message === '' ? '' : `It said: ${message}`}${place}${hint === '' ? '' : ` ${hint}`}`.trim(),
  })
}

/** S3 speaks XML, the others JSON or a header. */
function readFailure({ headers, text }: OutsideAnswer) {
  const body = text ?? ''
  const named = headers.get('x-amzn-errortype') ?? ''
  const said = body.trimStart().startsWith('{') ? readJson(body) : readXml(body)
  const code = named === '' ? said.code : named
  return {
    code: (/([A-Za-z0-9.]{1,80})(:.*)?$/.exec(code.replace(/:.*$/, ''))?.[1] ?? '').trim(),
    message: excerpt(said.message),
    region: excerpt(said.region),
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
    return { kind: 'UNAVAILABLE', hint: 'It may work later.' }
  }
  if (/AuthorizationHeaderMalformed|PermanentRedirect|TemporaryRedirect/.test(code)) {
    const hint = 'An admin sets the region in the credential.'
    return { kind: 'UNAVAILABLE', hint }
  }
  if (/Signature|InvalidAccessKey|InvalidClientToken|Expired|UnrecognizedClient/.test(code)) {
    return { kind: 'UNAVAILABLE', hint: 'An admin may have to set the credential again.' }
  }
  if (status === 403)
    return { kind: 'FORBIDDEN', hint: 'An admin may have to give the key more rights.' }
  return { kind: 'VALIDATION', hint: '' }
}
