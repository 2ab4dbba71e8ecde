import * as z from 'zod'
import { outside } from '../../shared/config'
import { AppError } from '../../shared/errors'
import type { ModelAddress, OpenedConnection } from '../contract/model-admin'
import { fetchErrors } from '../fetch/errors'
import { readText } from '../fetch/read-text'
import { modelErrors } from './errors'

/** Models of a provider that are kept at most, and characters of a name. */
const modelsMax = 100
const nameCharsMax = 120

const listed = z.object({ data: z.array(z.object({ id: z.string() })) })

/**
 * Asks a provider for the names of its models.
 *
 * @throws UNAVAILABLE, VALIDATION; FORBIDDEN for an address that requests may not go to
 */
export async function readModelNames(
  provider: string,
  baseUrl: string,
  { modelsPath, headers = {} }: ModelAddress,
  { fetch }: Pick<OpenedConnection, 'fetch'>,
): Promise<string[]> {
  if (modelsPath === null) throw modelErrors.noList(provider)
  const signal = AbortSignal.timeout(outside.timeoutMs)
  const response = await request(provider, () =>
    fetch(toListUrl(baseUrl, modelsPath), { headers, signal }),
  )
  if (!response.ok) throw modelErrors.listFailed(response.status)
  const { text, isTruncated } = await request(provider, () =>
    readText(response, outside.bodyBytesMax),
  )
  const parsed = text === null || isTruncated ? null : parseJson(text)
  const names = listed.safeParse(parsed)
  if (!names.success) throw modelErrors.notModels()
  return [...new Set(names.data.data.map(({ id }) => id))].filter(isName).sort().slice(0, modelsMax)
}

/** Joins base URL and path; of a version that both contain, one is kept. */
const toListUrl = (baseUrl: string, path: string): string => {
  const base = baseUrl.replace(/(?<!\/)\/+$/, '')
  return base.endsWith('/v1') ? base + path.replace(/^\/v1/, '') : base + path
}

async function request<Result>(provider: string, send: () => Promise<Result>): Promise<Result> {
  try {
    return await send()
  } catch (error) {
    throw error instanceof AppError ? error : fetchErrors.failed(provider, error)
  }
}

/** Whether a name can be a model's: it is shown to admins and stored. */
const isName = (name: string): boolean => name.length <= nameCharsMax && /^[\x21-\x7e]+$/.test(name)

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
