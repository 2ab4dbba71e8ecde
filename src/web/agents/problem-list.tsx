import type { FC } from 'hono/jsx'
import type { DefinitionFiles } from '../../agents/contract/agents'
import type { ErrorDetail } from '../../shared/errors'
import { toSentence } from '../form/form-state'
import { splitPlace } from './agent-form'

interface ProblemListProps {
  title: string
  files: DefinitionFiles
  problems: readonly ErrorDetail[]
  look: 'bad' | 'warn'
  /** Whether the page has a field for each file. */
  isLinked: boolean
}

/** Lists problems of a definition by file, line and field, with the text of the line. */
export const ProblemList: FC<ProblemListProps> = ({ title, files, problems, look, isLinked }) =>
  problems.length === 0 ? null : (
    <section class="block" aria-label={title}>
      <h2>{title}</h2>
      <ul class="list tall">
        {problems.map(({ path, message }) => {
          const { file, line, field } = splitPlace(path)
          const text = line === null ? undefined : files[file]?.split('\n')[line - 1]
          return (
            <li>
              <p>
                {files[file] === undefined || !isLinked ? (
                  <code>{file}</code>
                ) : (
                  <a href={`#${encodeURIComponent(file)}`}>
                    <code>{file}</code>
                  </a>
                )}
                {line !== null && `, line ${line}`}
                {field && (
                  <>
                    , <code>{field}</code>
                  </>
                )}
                : <span class={look}>{toSentence(message)}</span>
              </p>
              {text !== undefined && text.trim() !== '' && (
                <pre class="code">
                  {line} {text}
                </pre>
              )}
            </li>
          )
        })}
      </ul>
    </section>
  )
