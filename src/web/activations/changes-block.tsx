import type { FC } from 'hono/jsx'
import type { TraceView } from '../../hub/traces/trace-view'
import { formatBytes } from '../../shared/format'

type Changes = TraceView['changes'][number]

/** Patches that a page shows, in characters; the newest come first. */
const patchCharsMax = 1_100_000

/** Reads the patches of a run that a page has room for, by attempt. */
export async function readPatches(
  changes: Changes[],
  read: (attempt: number) => Promise<string | null>,
): Promise<Map<number, string>> {
  let left = patchCharsMax
  const shown = changes.toReversed().filter(({ patchChars }) => {
    left -= patchChars
    return patchChars > 0 && left >= 0
  })
  const patches = await Promise.all(
    shown.map(async ({ attempt }) => [attempt, await read(attempt).catch(() => null)] as const),
  )
  return new Map(patches.flatMap(([attempt, text]) => (text === null ? [] : [[attempt, text]])))
}

/** Shows what a run changed in its repository: branch, files, and the patch, folded because it is long. */
export const ChangesBlock: FC<{ changes: Changes[]; patches: Map<number, string> }> = ({
  changes,
  patches,
}) =>
  changes.length === 0 ? null : (
    <section class="block">
      <h2>Changes</h2>
      <ul class="list tall">
        {changes.map((each) => (
          <li>
            <div>
              <p>
                <code>{each.branch}</code> <span class="meta">{describe(each)}</span>
              </p>
              <pre class="up2" tabindex={0}>
                {each.stat}
              </pre>
              <Patch changes={each} patch={patches.get(each.attempt)} />
            </div>
          </li>
        ))}
      </ul>
    </section>
  )

const Patch: FC<{ changes: Changes; patch: string | undefined }> = ({ changes, patch }) => {
  if (changes.patchChars === 0) return <p class="meta up2">The patch was not stored.</p>
  if (patch === undefined) {
    return <p class="meta up2">The patch can’t be shown here. Compare the branch instead.</p>
  }
  return (
    <details id={`patch-${changes.attempt}`} class="up2">
      <summary>
        Patch <span class="meta">{formatBytes(changes.patchChars)}</span>
      </summary>
      <pre class="up2" tabindex={0}>
        {patch}
      </pre>
    </details>
  )
}

const short = (commit: string): string => commit.slice(0, 12)

function describe({ pushed, since }: Changes): string {
  const what = pushed === null ? 'not pushed' : `pushed as ${short(pushed)}`
  return since === null ? `new branch, ${what}` : `since ${short(since)}, ${what}`
}
