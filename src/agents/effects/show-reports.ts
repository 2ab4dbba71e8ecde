import { hasUsedOwnAccount } from '../loop/own-account'
import type { StoredReport } from '../loop/program-event'
import { type EffectContext, notifyWatchers } from './effect-context'

/** Shows live what a program does: its text as it comes, and that it uses tools of its own. */
export function showReports(context: EffectContext, reports: StoredReport[]): void {
  for (const report of reports) showReport(context, report)
}

function showReport(context: EffectContext, report: StoredReport): void {
  const { stream } = context
  const { activationId } = context.getActivation().state
  if (!activationId) return
  switch (report.kind) {
    case 'text':
    case 'reasoning': {
      context.programText ??= stream.beginCall(
        activationId,
        hasUsedOwnAccount(context.getActivation().events),
      )
      stream.addDelta(context.programText, { kind: report.kind, text: report.text })
      break
    }
    case 'tool':
      endText(context)
      if (!report.is_builtin || report.status !== 'running') break
      notifyWatchers(context, 'using a tool of its own')
      // the title can quote what is private, so only those see it who see everything
      stream.publishProgress(
        { callId: report.call_id, name: 'program', arguments: '' },
        'using a tool of its own',
        activationId,
        report.title,
      )
      break
    case 'ended':
      endText(context)
  }
}

function endText(context: EffectContext): void {
  if (context.programText) context.stream.endCall(context.programText)
  context.programText = null
}
