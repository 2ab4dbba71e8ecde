import type { Actor, ConversationApi } from '../../hub/contract/hub'
import { AccountMissingError } from '../credentials/own-accounts'
import { emptyScrubber, type Scrubber } from '../credentials/scrub'
import { gatewayErrors } from './errors'
import { findAccountOwner } from './find-account-owner'
import type { PendingCall } from './pending-call'
import { findTimeout } from './pipeline'
import { runTool, type ToolRun } from './run-tool'
import { selectOwn } from './select-own'

interface ServiceTarget {
  server: string
  service: string
  actor: Actor
  hub: ConversationApi
}

/**
 * Runs a tool that uses an external service. The call is allowed already; the credential is looked up
 * now and redacted from results, progress and errors.
 */
export async function runWithService(asked: PendingCall, target: ServiceTarget): Promise<ToolRun> {
  const { pipeline, tool, prepared, signal } = asked
  const { actor, hub } = target
  let scrubber = emptyScrubber
  const ran = await runTool(tool.name, findTimeout(pipeline, tool), signal, async (stop) => {
    if (!pipeline.connect) throw gatewayErrors.noConnections()
    const owner = findAccountOwner(asked.policy, prepared.grant)
    if (owner !== null) {
      // Before anything of the account is read, so that nobody else reads it in the trace.
      const { activationId } = asked.caller
      if (activationId !== null) await pipeline.hub.markOwnAccount(activationId)
      asked.usesOwnAccount = true
    }
    const opened = await pipeline.connect({ ...target, owner, signal: stop })
    scrubber = opened.scrubber
    const own = selectOwn(asked)
    const clean = scrubber.parts()
    // Progress is sent to watchers whose access was decided before.
    const progress = owner === null ? (text: string) => asked.progress(clean(text)) : () => {}
    const context = { actor, hub, ...own, outside: opened.connection, signal: stop, progress }
    // Redact each text before it becomes JSON, which would escape it a second time.
    return scrubber.value(await prepared.run(context))
  })
  const { cause } = ran
  // The thread offers the requester to connect the account.
  if (cause instanceof AccountMissingError) asked.entry.reason = cause.message
  return {
    outcome: ran.outcome,
    text: scrubber.text(ran.text),
    ...(cause !== undefined && { cause: scrubCause(cause, scrubber) }),
  }
}

/** Redacts the credential from an error for the operator's log. */
function scrubCause(cause: unknown, scrubber: Scrubber): unknown {
  if (!(cause instanceof Error)) return scrubber.value(cause)
  const inner = cause.cause === undefined ? undefined : scrubCause(cause.cause, scrubber)
  const clean = new Error(scrubber.text(cause.message), { cause: inner })
  clean.name = cause.name
  clean.stack = scrubber.text(cause.stack ?? '')
  return clean
}
