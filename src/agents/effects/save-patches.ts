import type { ActivationId } from '../../shared/ids'
import type { RunReport } from '../../shared/runner-protocol'
import type { EffectContext } from './effect-context'

/**
 * Stores the patch of an attempt's last report, masked as traces are, and returns the reports with what was stored.
 * A patch that cannot be stored is left out: the answer matters more.
 */
export async function savePatches(
  { deps, agentId }: EffectContext,
  run: { activationId: ActivationId; attempt: number },
  reports: RunReport[],
): Promise<RunReport[]> {
  return Promise.all(
    reports.map(async (report) => {
      if (report.kind !== 'ended' || !report.changes?.patch) return report
      const { changes } = report
      const patch = deps.mask(changes.patch).toWellFormed()
      try {
        await deps.patches.save({ agentId, ...run }, patch)
        return { ...report, changes: { ...changes, patch } }
      } catch (error) {
        deps.log.warn('failed to store a patch', { activation: run.activationId, error })
        return { ...report, changes: { ...changes, patch: '' } }
      }
    }),
  )
}
