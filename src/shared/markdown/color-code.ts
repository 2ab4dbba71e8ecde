import { renderedTexts } from '../config'

/** The classes of comments, strings, numbers and keywords, in the order of the groups of a pattern. */
const classes = ['tc', 'ts', 'tn', 'tk'] as const

/**
 * How the code of a language is read: a pattern with a group for comments, strings, numbers and words, in this order.
 * Each part consumes what it searches, so that reading takes linear time; what nothing closes ends with its line or the code.
 */
interface Syntax {
  pattern: RegExp
  /** The words that are keywords; null for all that the pattern finds. */
  keywords: ReadonlySet<string> | null
  ignoresCase?: boolean
}

const slashes =
  /(\/\/[^\n]*|\/\*(?:[^*]|\*(?!\/))*(?:\*\/)?)|("(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?|`(?:[^`\\]|\\.)*`?)|((?<![\w$])\d[\w.]*)|([A-Za-z_$][\w$]*)/gs
/** A quotation mark alone begins a lifetime, so that only one with a character is a literal. */
const rust =
  /(\/\/[^\n]*|\/\*(?:[^*]|\*(?!\/))*(?:\*\/)?)|("(?:[^"\\]|\\.)*"?|'(?:[^'\\\n]|\\[^'\n]{1,9}|\\')')|((?<!\w)\d[\w.]*)|([A-Za-z_]\w*)/gs
/** A quotation mark behind a letter is an apostrophe, unless the letters are a prefix of a string. */
const hashes =
  /((?<!\S)#[^\n]*)|((?<!\w)[bfru]{0,2}(?:"""(?:[^"\\]|\\.|"(?!""))*(?:""")?|'''(?:[^'\\]|\\.|'(?!''))*(?:''')?|"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?))|((?<!\w)\d[\w.]*)|([A-Za-z_]\w*)/gis
const dashes =
  /(--[^\n]*|\/\*(?:[^*]|\*(?!\/))*(?:\*\/)?)|("[^"\n]*"?|(?<!\w)'[^'\n]*'?)|((?<!\w)\d[\w.]*)|([A-Za-z_]\w*)/g
const css =
  /(\/\*(?:[^*]|\*(?!\/))*(?:\*\/)?)|("[^"\n]*"?|'[^'\n]*'?)|((?<![\w-])\d[\w.%]*|#[\da-f]{3,8}\b)|(@[\w-]+)/gi
const markup =
  /(<!--(?:[^-]|-(?!->))*(?:-->)?)|((?<==)(?:"[^"]*"?|'[^']*'?))|(&#?\w{1,32};)|(<[!/]?[A-Za-z][\w:-]*|\/?>)/g
const diff = /^(@@[^\n]*)|^(\+[^\n]*)|^(-[^\n]*)|^(diff [^\n]*|index [^\n]*)/gm

const words = (text: string): Set<string> => new Set(text.split(' '))

const cLike =
  'break case class const continue default do else enum extends extern final for goto if implements import int interface long char bool boolean void float double unsigned signed struct union typedef static namespace new package private protected public return short sizeof super switch template this throw throws try catch finally typename using virtual volatile while true false null nullptr override abstract var let val fun func function when in is as object data sealed async await foreach string get set readonly record module guard protocol extension self nil init deinit where echo use trait'
const syntaxes: [names: string, syntax: Syntax][] = [
  [
    'js jsx mjs cjs javascript ts tsx mts cts typescript json json5 jsonc',
    {
      pattern: slashes,
      keywords: words(
        'abstract any as async await boolean break case catch class const continue debugger declare default delete do else enum export extends false finally for from function get if implements import in infer instanceof interface is keyof let namespace never new null number of private protected public readonly return satisfies set static string super switch this throw true try type typeof undefined unknown var void while with yield',
      ),
    },
  ],
  [
    'c h cpp c++ cc hpp cs csharp java kotlin kt swift php scala dart',
    { pattern: slashes, keywords: words(cLike) },
  ],
  [
    'go golang',
    {
      pattern: slashes,
      keywords: words(
        'any bool break byte case chan const continue default defer else error fallthrough false for func go goto if import int interface map nil package range return rune select string struct switch true type uint var',
      ),
    },
  ],
  [
    'rust rs',
    {
      pattern: rust,
      keywords: words(
        'as async await bool box break char const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static str struct super trait true type u8 u32 u64 i32 i64 usize unsafe use where while',
      ),
    },
  ],
  [
    'py python rb ruby toml yaml yml ini r elixir ex',
    {
      pattern: hashes,
      keywords: words(
        'and as assert async await begin break case class continue def del do elif else elsif end ensure except False false finally for from global if import in is lambda match module next nil None nonlocal not null or pass raise require rescue return self super then True true try unless until when while with yield',
      ),
    },
  ],
  [
    'sh bash zsh shell console dockerfile docker make makefile',
    {
      pattern: hashes,
      keywords: words(
        'if then else elif fi for in do done while until case esac function return exit export local set unset source cd echo sudo true false FROM RUN CMD COPY ADD ENV ARG WORKDIR EXPOSE ENTRYPOINT USER VOLUME',
      ),
    },
  ],
  [
    'sql sqlite postgresql mysql lua haskell hs',
    {
      pattern: dashes,
      ignoresCase: true,
      keywords: words(
        'add all alter and as asc begin between by case check commit constraint create cross default delete desc distinct do drop else end exists false for foreign from full function group having if in index inner insert into is join key left let like limit local module nil not null of offset on or order outer over partition primary references repeat return returning right rollback select set table then true union unique until update using values view when where while with',
      ),
    },
  ],
  ['css scss less', { pattern: css, keywords: null }],
  ['html xml svg vue', { pattern: markup, keywords: null }],
  ['diff patch', { pattern: diff, keywords: null }],
]

const byName = new Map(
  syntaxes.flatMap(([names, syntax]) => names.split(' ').map((name) => [name, syntax] as const)),
)

/**
 * Returns code as HTML in which comments, strings, numbers and keywords have elements with the class of their color.
 * The text between them, and all code in a language that is not known, is only escaped.
 *
 * @param counted how many elements the text has already, of those it may have
 */
export function colorCode(
  code: string,
  language: string,
  counted: { spans: number },
  escapeHtml: (text: string) => string,
): string {
  const syntax = byName.get(language.toLowerCase())
  if (!syntax) return escapeHtml(code)
  const { pattern, keywords, ignoresCase } = syntax
  let html = ''
  let end = 0
  for (const match of code.matchAll(pattern)) {
    if (counted.spans >= renderedTexts.codeSpansMax) break
    const [found, ...groups] = match
    const word = groups[3]
    if (word && keywords?.has(ignoresCase ? word.toLowerCase() : word) === false) continue
    const name = classes[groups.findIndex((group) => group !== undefined)]
    html += `${escapeHtml(code.slice(end, match.index))}<span class="${name}">${escapeHtml(found)}</span>`
    end = match.index + found.length
    counted.spans++
  }
  return html + escapeHtml(code.slice(end))
}
