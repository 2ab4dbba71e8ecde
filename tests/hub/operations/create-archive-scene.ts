import { env } from 'cloudflare:workers'
import { expect } from 'vitest'
import { archiveOldRecords, findCutoffs } from '../../../src/hub/operations/archive-old-records'
import { archivedMark, archiveStatements, dayMs } from '../../../src/hub/operations/archive-queries'
import {
  openStoredTrace,
  readRecords,
  toArchiveView,
} from '../../../src/hub/operations/archive-view'
import type { ArchiveKind } from '../../../src/hub/schema/audit'
import { batch } from '../../../src/shared/db/batch'
import { createScene } from '../../web/open-pages'

/** The part of an id that is its time. */
const toIdTime = (time: number) =>
  time
    .toString(16)
    .padStart(12, '0')
    .replace(/^(.{8})/, '$1-')

/** A hub with records to archive, and short words for where they are. */
export async function createArchiveScene() {
  const scene = await createScene()
  const { hub, mira, scout } = scene
  const all = async <Row>(sql: string) => (await env.DB.prepare(sql).all<Row>()).results

  /** One pass of the archive, as a sweep makes it. */
  async function archive(): Promise<void> {
    const context = hub.context()
    const cutoffs = findCutoffs(context.settings, hub.clock.now())
    if (!cutoffs) throw new Error('Nothing is archived.')
    const { toArchive } = await batch(context.db, archiveStatements(cutoffs))
    await archiveOldRecords(context, toArchive, hub.clock.now())
  }

  /** Inserts three records of each kind, with ids that sort like them: two of one day, one of the next unless `isOneDay`. */
  async function insertRecords(
    name: string,
    at: number,
    { isOneDay = false } = {},
  ): Promise<string[]> {
    const records = [at, at + 1_000, at + (isOneDay ? 2_000 : dayMs)].map((time, index) => {
      const id = `${time
        .toString(16)
        .padStart(12, '0')
        .replace(/^(.{8})/, '$1-')}-7000-8000-${name}-${index}`
      return { id, time }
    })
    await env.DB.batch(
      records.flatMap(({ id, time }) => [
        env.DB.prepare(
          `INSERT INTO activations (id, agent_id, class, task, state, admission, model, definition_version, started_at, deadline_at)
         VALUES (?1, ?2, 'inbox', 'mention', 'done', 'granted', 'test/model', 1, ?3, ?3)`,
        ).bind(id, scout.id, time),
        env.DB.prepare('INSERT INTO activation_traces (activation_id, trace) VALUES (?, ?)').bind(
          id,
          JSON.stringify({ trace: id }),
        ),
        env.DB.prepare(
          `INSERT INTO audit_log (id, account_id, activation_id, call_id, tool, "grant", arguments_hash, decision, outcome, created_at, arguments)
         VALUES (?1, ?2, NULL, 'c', 'hub_search', 'hub:read', 'h', 'allowed', 'ok', ?3, '{"query":"quetzal"}')`,
        ).bind(id, mira.id, time),
        env.DB.prepare(
          `INSERT INTO usage_events (activation_id, call, account_id, model, task, input_tokens, cached_tokens,
           output_tokens, reasoning_tokens, cost_microusd, is_priced, is_estimated, duration_ms, created_at)
         VALUES (?1, 1, ?2, 'test/model', 'mention', 1, 0, 1, 0, 5, 1, 0, 1, ?3)`,
        ).bind(id, scout.id, time),
      ]),
    )
    return records.map(({ id }) => id)
  }

  /** How often each record is in the database, and in the files that the database names. */
  async function findRecords(since = 0) {
    const day = Math.floor(since / dayMs)
    const { archive: store } = hub.context()
    const files = await all<{ key: string; kind: ArchiveKind; day: number }>(
      `SELECT * FROM archive_files WHERE day >= ${day}`,
    )
    const inFiles = { audit: [] as string[], usage: [] as string[] }
    for (const file of files) {
      if (file.kind === 'traces') continue
      const { json } = await readRecords(store, file.kind, toArchiveView(file.kind, file).name)
      const records: { id?: string; activationId: string }[] = JSON.parse(json)
      inFiles[file.kind].push(...records.map((each) => each.id ?? each.activationId))
    }
    const traces = await all<{ activation_id: string; trace: string }>(
      `SELECT * FROM activation_traces WHERE activation_id >= '${toIdTime(since)}'`,
    )
    const opened = await Promise.all(
      traces.map(
        async (row) => [row.activation_id, await openStoredTrace(store, row.trace)] as const,
      ),
    )
    const ids = async (sql: string) => (await all<{ id: string }>(sql)).map(({ id }) => id)
    return {
      audit: [...inFiles.audit, ...(await ids('SELECT id FROM audit_log'))],
      usage: [...inFiles.usage, ...(await ids('SELECT activation_id AS id FROM usage_events'))],
      traces: new Map(opened),
      stored: {
        audit: await ids('SELECT id FROM audit_log'),
        usage: await ids('SELECT activation_id AS id FROM usage_events'),
        traces: traces
          .filter(({ trace }) => !trace.startsWith(archivedMark))
          .map((row) => row.activation_id),
      },
    }
  }

  /** Every record is in the database or in a named file, never in both, never in neither. */
  async function requireEachOnce(ids: string[], since: number, when: string) {
    const found = await findRecords(since)
    for (const id of ids) {
      expect(
        found.audit.filter((each) => each === id),
        `audit ${when}`,
      ).toHaveLength(1)
      expect(
        found.usage.filter((each) => each === id),
        `usage ${when}`,
      ).toHaveLength(1)
      expect(found.traces.get(id), `trace ${when}`).toBe(JSON.stringify({ trace: id }))
    }
    return found.stored
  }

  return { ...scene, all, archive, insertRecords, findRecords, requireEachOnce }
}
