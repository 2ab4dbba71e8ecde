import type { FC } from 'hono/jsx'
import type { FileDiff } from '../../hub/definitions/diff-files'
import type { VersionRow } from '../../hub/definitions/queries'
import { accountPath } from '../../shared/paths'
import { ErrorSummary } from '../form/error-summary'
import type { FormProblem } from '../form/form-state'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { AccountLink } from '../parts/account-link'
import { RelativeTime } from '../parts/relative-time'
import { TableHead } from '../parts/table-head'
import { editPath, exportPath, versionsPath } from './agent-paths'
import { FileDiffs } from './file-diff'

export interface VersionsPageProps {
  frame: Frame
  name: string
  rows: VersionRow[]
  /** The version whose changes are shown, with those from the version before it. */
  shown: { version: number; diffs: FileDiff[] } | null
  /** The version whose files the viewer has just made the current ones. */
  restored: number | null
  problem: FormProblem | null
}

/** Lists the versions of a definition, newest first, with the changes of one. */
export const VersionsPage: FC<VersionsPageProps> = (props) => {
  const { frame, name, rows, shown, restored, problem } = props
  const current = rows[0]?.version ?? 0
  return (
    <Layout frame={frame} title={`Versions of ${name}`} place="agents" sheet="admin">
      <h1>Versions of {name}</h1>
      <p class="by up2">
        <AccountLink name={name} kind="agent" />{' '}
        <a class="ul" href={editPath(name)}>
          Edit
        </a>
      </p>
      <div class="up4">
        <ErrorSummary problem={problem} />
        {restored !== null && (
          <p class="note" role="status">
            Version {current} has the files of version {restored}. New runs use it.
          </p>
        )}
      </div>
      {shown && (
        <section class="block" id="changes" aria-label={`Changes of version ${shown.version}`}>
          <h2>Changes of version {shown.version}</h2>
          <FileDiffs
            of={shown.diffs}
            none="The files are the same as those of the version before."
          />
        </section>
      )}
      <table class="tbl fold up4">
        <TableHead columns={['Version', 'Saved', 'By', 'Actions']} />
        <tbody>
          {rows.map((row) => (
            <Version name={name} row={row} current={current} now={frame.now} />
          ))}
        </tbody>
      </table>
    </Layout>
  )
}

interface VersionProps {
  name: string
  row: VersionRow
  current: number
  now: number
}

const Version: FC<VersionProps> = ({ name, row: { version, ...row }, current, now }) => (
  <tr data-row>
    <th scope="row" class="num">
      {version}
      {version === current && <span class="meta"> current</span>}
    </th>
    <td data-l="Saved">
      <RelativeTime at={row.createdAt} now={now} />
    </td>
    <td data-l="By">
      {row.createdBy === null ? (
        'unknown'
      ) : (
        <a href={accountPath(row.createdBy)}>{row.createdBy}</a>
      )}
    </td>
    <td class="whole">
      <form class="acts" method="post" action={versionsPath(name)}>
        <a class="ul" href={`${versionsPath(name)}?show=${version}#changes`}>
          Changes<span class="vh"> of version {version}</span>
        </a>
        <a class="ul" href={exportPath(name, version)} download>
          Export<span class="vh"> version {version}</span>
        </a>
        {version !== current && (
          <>
            <input type="hidden" name="base" value={String(current)} />
            <button type="submit" class="btn" name="version" value={String(version)}>
              Restore<span class="vh"> version {version}</span>
            </button>
          </>
        )}
      </form>
    </td>
  </tr>
)
