import type { Hono } from 'hono'
import type { FC } from 'hono/jsx'
import { type HubEnv, readCredential } from '../../hub/http/page-entry'
import { selectWrittenBackups, type WrittenBackupRow } from '../../hub/operations/backup-queries'
import { viewerValues } from '../../hub/viewers/queries'
import { formatBytes, formatCount } from '../../shared/format'
import type { Frame } from '../frame/frame'
import { AdminTabs, Layout } from '../frame/layout'
import { page, pageErrors, readPage, sendPage } from '../frame/send-page'
import { Block } from '../parts/block'
import { TextLink } from '../parts/links'
import { TableHead } from '../parts/lists'
import { RelativeTime } from '../parts/times'

/** Registers `GET /admin/backups`, for admins. */
export function registerBackupPages(app: Hono<HubEnv>): void {
  app.get(
    '/admin/backups',
    page(async (c) => {
      const values = viewerValues(await readCredential(c), c.var.context.clock.now())
      const { frame, answers } = await readPage(c, { backups: selectWrittenBackups(values) })
      if (!frame.viewer) throw pageErrors.signInRequired()
      if (!frame.viewer.isAdmin) throw pageErrors.adminRequired()
      return sendPage(c, <BackupsPage frame={frame} origin={c.var.origin} rows={answers.backups} />)
    }),
  )
}

interface BackupsPageProps {
  frame: Frame
  origin: string
  /** Newest first. */
  rows: WrittenBackupRow[]
}

const weekMs = 7 * 86_400_000

const BackupsPage: FC<BackupsPageProps> = ({ frame, origin, rows }) => (
  <Layout frame={frame} title="Backups" place="admin/backups" sheet="admin">
    <AdminTabs here="admin/backups" isAdmin />
    <h1>Backups</h1>
    <LastBackup last={rows[0] ?? null} now={frame.now} />
    {rows.length > 0 && <BackupTable rows={rows} now={frame.now} />}
    <Block title="Write a backup">
      <p class="up3">
        Run this in the folder of Rookery, on the machine of the hub or another one. People can read
        and not write while the database is copied.
      </p>
      <pre class="up2" tabindex={0}>
        {withAddress(origin, 'backup', 'backups/today')}
      </pre>
      <p class="up2">
        The folder holds private messages in clear text. Keep the vault key in another place: it is
        not in the backup, and credentials cannot be read without it.
      </p>
    </Block>
    <Block title="Restore a backup">
      <p class="up3">
        A backup is read into a hub that is empty, and of the same version. To try one, restore it
        into a new folder:
      </p>
      <pre class="up2" tabindex={0}>{`ROOKERY_STATE_DIR=restored npm run restore -- backups/today
ROOKERY_STATE_DIR=restored PORT=8788 npm start`}</pre>
      <p class="up2">
        <TextLink href="/docs/guides/upgrading#restore-a-backup">All about backups</TextLink>
      </p>
    </Block>
  </Layout>
)

const withAddress = (origin: string, command: string, folder: string): string =>
  `ROOKERY_URL=${origin} ROOKERY_ADMIN_KEY=... npm run ${command} -- ${folder}`

const LastBackup: FC<{ last: WrittenBackupRow | null; now: number }> = ({ last, now }) => {
  if (last === null) {
    return (
      <p class="lede">
        <span class="warn">No backup was written yet.</span> This hub lists what{' '}
        <code>npm run backup</code> reports; it does not know of copies made in other ways.
      </p>
    )
  }
  const isOld = now - last.at > weekMs
  return (
    <p class="lede">
      The last backup was written <RelativeTime at={last.at} now={now} />.{' '}
      {isOld && <span class="warn">None was written for a week: write one now.</span>}
    </p>
  )
}

const BackupTable: FC<{ rows: WrittenBackupRow[]; now: number }> = ({ rows, now }) => (
  <table class="tbl fold up4">
    <TableHead columns={['Written', 'Size', 'Rows', 'Agents', 'Files']} />
    <tbody>
      {rows.map(({ at, written }) => (
        <tr>
          <th scope="row">
            <RelativeTime at={at} now={now} />
          </th>
          <td data-l="Size">{formatBytes(written.bytes)}</td>
          <td data-l="Rows">{formatCount(written.rows)}</td>
          <td data-l="Agents">{formatCount(written.agents)}</td>
          <td data-l="Files">{formatCount(written.files)}</td>
        </tr>
      ))}
    </tbody>
  </table>
)
