import { AppError } from '../../errors'
import type { Actor, ConversationDoor } from '../../hub/contract'
import { noScrubber, type Scrubber } from '../credentials/scrub'
import type { AskedCall } from './asked-call'
import { ownThings } from './pipeline'
import { runTool, type ToolRun } from './run-tool'

interface Errand {
  server: string
  service: string
  actor: Actor
  hub: ConversationDoor
}

/**
 * Runs a tool that needs a service outside. The call is decided already; the credential is looked up
 * now, and nothing that comes back, by any way, holds it (M6).
 */
export async function runOutside(asked: AskedCall, errand: Errand): Promise<ToolRun> {
  const { pipeline, tool, prepared, signal } = asked
  const { actor, hub } = errand
  let scrubber = noScrubber
  const ran = await runTool(tool.name, tool.timeoutMs, signal, async (stop) => {
    if (!pipeline.connect) {
      throw new AppError('UNAVAILABLE', 'No service outside can be reached from here.')
    }
    const opened = await pipeline.connect({ ...errand, signal: stop })
    scrubber = opened.scrubber
    const own = ownThings(pipeline, actor)
    const clean = scrubber.parts()
    const progress = (text: string) => asked.progress(clean(text))
    const context = { actor, hub, ...own, outside: opened.connection, signal: stop, progress }
    // Texts by themselves: within JSON they would be escaped a second time.
    return scrubber.value(await prepared.run(context))
  })
  const { cause } = ran
  return {
    outcome: ran.outcome,
    text: scrubber.text(ran.text),
    ...(cause !== undefined && { cause: scrubCause(cause, scrubber) }),
  }
}

/** For the operator's log, which must not hold it either. */
function scrubCause(cause: unknown, scrubber: Scrubber): unknown {
  if (!(cause instanceof Error)) return scrubber.value(cause)
  const inner = cause.cause === undefined ? undefined : scrubCause(cause.cause, scrubber)
  const clean = new Error(scrubber.text(cause.message), { cause: inner })
  clean.name = cause.name
  clean.stack = scrubber.text(cause.stack ?? '')
  return clean
}
