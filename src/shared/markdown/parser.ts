import MarkdownIt from 'markdown-it'
import { countWork } from './count-work'
import { useFootnotes } from './footnotes'
import { useHtmlRules } from './html-rules'
import { useLinkLabels } from './link-labels'
import { useNames } from './names'
import { useStrikethrough } from './strikethrough'
import { useTasks } from './tasks'
import { useWebAddresses } from './web-address'

/**
 * The parser of GFM with footnotes and mentions; raw HTML is text. It keeps nothing of a text: what belongs to one is
 * in its `env`, and the work that the text may cost, too.
 */
export const gfm = new MarkdownIt()
gfm.disable(['html_block', 'html_inline', 'linkify', 'replacements', 'smartquotes'])
gfm.normalizeLink = gfm.utils.lib.mdurl.encode
gfm.normalizeLinkText = (text) => text
// The HTML rules leave out the targets that are not safe.
gfm.validateLink = () => true
useWebAddresses(gfm)
useLinkLabels(gfm)
useStrikethrough(gfm)
useFootnotes(gfm)
useNames(gfm)
useTasks(gfm)
useHtmlRules(gfm)
countWork(gfm)

/**
 * The parser of a text that is shown as it is. It knows paragraphs, ends of lines, addresses and mentions only, which take
 * linear time.
 */
export const plain = new MarkdownIt('zero', { breaks: true })
plain.enable('newline')
useWebAddresses(plain)
useNames(plain)
useHtmlRules(plain)
