import { setTimeout as wait } from 'node:timers/promises'

/** The run's tools cannot be used, so that the program would work without them and not say so. */
export class NoToolsError extends Error {}

/** The hub did not answer, or not for a reason of this run: it may be starting again. */
class UnreachableError extends NoToolsError {}

interface Answer {
  result?: unknown
  error?: { message?: string }
}

/** A hub that starts again on a busy machine takes more than a minute. */
const patienceMs = 300_000
const pauseMs = 500

/**
 * Lists the hub's tools with the run's token before the program starts. A hub that cannot be reached is asked again.
 *
 * @param forMs how long it is asked
 * @throws NoToolsError
 */
export async function proveTools(
  url: string,
  token: string,
  signal: AbortSignal,
  forMs = patienceMs,
): Promise<void> {
  for (const end = Date.now() + forMs; ; ) {
    try {
      return await proveOnce(url, token, signal)
    } catch (error) {
      if (!(error instanceof UnreachableError) || Date.now() > end) throw error
    }
    await wait(pauseMs, undefined, { signal })
  }
}

async function proveOnce(url: string, token: string, signal: AbortSignal): Promise<void> {
  let session: string | null = null
  const call = async (body: object): Promise<Answer> => {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...(session !== null && { 'mcp-session-id': session }),
        ...(isInitialized && { 'mcp-protocol-version': protocolVersion }),
      },
      body: JSON.stringify({ jsonrpc: '2.0', ...body }),
      signal: AbortSignal.any([signal, AbortSignal.timeout(30_000)]),
    })
    const text = await response.text()
    if (!response.ok) {
      const Failure = response.status >= 500 ? UnreachableError : NoToolsError
      throw new Failure(`The hub's tools answered ${response.status}`)
    }
    session ??= response.headers.get('mcp-session-id')
    return parseAnswer(text, response.headers.get('content-type') ?? '')
  }
  let isInitialized = false
  try {
    const clientInfo = { name: 'rookery-runner', version: '1' }
    const params = { protocolVersion, capabilities: {}, clientInfo }
    expectResult(await call({ id: 1, method: 'initialize', params }))
    isInitialized = true
    await call({ method: 'notifications/initialized' })
    expectResult(await call({ id: 2, method: 'tools/list', params: {} }))
  } catch (error) {
    if (error instanceof NoToolsError || signal.aborted) throw error
    throw new UnreachableError(`The hub's tools cannot be reached: ${(error as Error).message}`)
  }
}

const protocolVersion = '2025-06-18'

function expectResult(answer: Answer): void {
  if (answer.result !== undefined) return
  throw new NoToolsError(`The hub's tools answered: ${answer.error?.message ?? 'nothing'}`)
}

function parseAnswer(text: string, type: string): Answer {
  if (text === '') return {}
  if (!type.includes('text/event-stream')) return JSON.parse(text)
  const events = text.split('\n').filter((line) => line.startsWith('data:'))
  const answers = events.map((line): Answer => JSON.parse(line.slice(5)))
  return answers.find(({ result, error }) => result !== undefined || error !== undefined) ?? {}
}
